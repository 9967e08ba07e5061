// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/session.h"

#include <chrono>

#include "util/parallel.h"

namespace e4r::replay {

namespace {

const policy::Policy* policy_of(trace::Generation generation) {
  if (generation == trace::Generation::unknown) return nullptr;
  for (const policy::Policy* policy : policy::policies())
    if (policy->generation == generation) return policy;
  return nullptr;
}

}  // namespace

const policy::Policy& recorded_policy(trace::Generation generation) {
  const policy::Policy* policy = policy_of(generation);
  return policy != nullptr ? *policy : *policy::find_policy("legacy");
}

bool is_modelled(trace::Generation generation) {
  return policy_of(generation) != nullptr;
}

Status Session::run_into(const Setup& setup, Purpose purpose, InputTable& inputs, Run& out) const {
  EngineOptions options;
  options.purpose = purpose;
  options.check = options_.check;
  options.explain = explain_;
  if (options_.progress)
    options.progress = [this, name = setup.policy->name](std::uint64_t events) {
      options_.progress(name.data(), events);
    };
  const auto start = std::chrono::steady_clock::now();
  out.engine = std::make_unique<Engine>(source_, *setup.policy, setup.tunables, std::move(options));
  const auto events = trace_.cursor();
  E4R_CHECK(out.engine->run(*events, inputs));
  out.elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {};
}

Result<Run> Session::run(const Setup& setup, Purpose purpose) {
  Run out;
  E4R_CHECK(run_into(setup, purpose, inputs_, out));
  return out;
}

Result<Run> Session::follow(const Setup& recorded) {
  inputs_.clear();
  return run(recorded, Purpose::agree);
}

Result<Run> Session::free_run(const Setup& setup) {
  return run(setup, Purpose::free_run);
}

Result<std::vector<Run>> Session::what_if(const std::vector<Setup>& setups) {
  std::vector<Run> runs(setups.size());
  std::vector<Status> results(setups.size());
  parallel_for(thread_count(options_.threads), setups.size(), [&](std::size_t i) {
    results[i] = run_into(setups[i], Purpose::what_if, inputs_, runs[i]);
  });
  for (Status& result : results) E4R_CHECK(std::move(result));
  return runs;
}

}  // namespace e4r::replay
