// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/session.h"

#include <chrono>
#include <utility>

#include "util/parallel.h"

namespace e4r::replay {

namespace {

std::vector<std::string_view> names_of(const trace::TraceSummary& trace) {
  switch (trace.generation) {
    case trace::Generation::v6_1:
      return {"legacy"};
    case trace::Generation::cr1_5:
      return {"cr1.5"};
    case trace::Generation::v6_5:
      // Without a search for a stream, 7.3's decisions are those of 6.12.
      if (trace.streams_without_start > 0) return {"linux-7.3"};
      return {"linux-6.12", "linux-6.5"};
    case trace::Generation::unknown:
      break;
  }
  return {};
}

}  // namespace

bool is_modelled(const trace::TraceSummary& trace) {
  return !names_of(trace).empty();
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

Result<Run> Session::follow_recorded(const allocator::Tunables& recorded) {
  std::vector<std::string_view> names = names_of(trace_.summary());
  if (names.empty()) names = {"legacy"};
  Run best;
  InputTable inputs;  // of the best
  for (const std::string_view name : names) {
    E4R_TRY(Run run, follow({allocator::find_policy(name), recorded}));
    const Agreement& agreement = run.engine->agreement();
    const bool all = agreement.identical == agreement.requests;
    if (best.engine == nullptr || agreement.identical > best.engine->agreement().identical) {
      best = std::move(run);
      inputs = std::move(inputs_);
    }
    if (all) break;
  }
  inputs_ = std::move(inputs);
  return best;
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
