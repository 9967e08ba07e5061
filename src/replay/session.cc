// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/session.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "replay/follow.h"
#include "replay/free_run.h"
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
      return {"linux-6.12", "linux-6.14", "linux-6.5"};
    case trace::Generation::unknown:
      break;
  }
  return {};
}

// Puts first what stands for the release.
void prefer(std::string_view release, const trace::TraceSummary& trace,
            std::vector<std::string_view>& names) {
  const auto stands = [release](std::string_view name) {
    return allocator::stands_for(*allocator::find_policy(name), release);
  };
  if (trace.generation == trace::Generation::v6_5 && stands("linux-7.3") &&
      std::ranges::find(names, "linux-7.3") == names.end())
    names.emplace_back("linux-7.3");
  std::stable_partition(names.begin(), names.end(), stands);
}

}  // namespace

bool is_modelled(const trace::TraceSummary& trace) {
  return !names_of(trace).empty();
}

template <class Driver, class... Inputs>
Result<Run> Session::run(const Setup& setup, const Inputs&... inputs) const {
  EngineOptions options;
  options.check = options_.check;
  options.warm = warm() != nullptr;
  options.explain = setup.explain;
  options.log = setup.log;
  options.write_down = setup.write_down;
  options.watch = setup.watch;
  options.watch_every = setup.watch_every;
  if (options_.progress)
    options.progress = [this, name = setup.policy->name](std::uint64_t events) {
      options_.progress(name.data(), events);
    };
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  Run out;
  if constexpr (std::is_same_v<Driver, Follow>) {
    out.engine = std::make_unique<Follow>(
        source_, make_model(source_, *setup.policy, setup.tunables, warm()), std::move(options),
        inputs...);
  } else {
    std::unique_ptr<allocator::Decider> decider;
    if (setup.make) {
      E4R_TRY(decider, setup.make(setup, warm()));
    } else {
      decider = make_model(source_, *setup.policy, setup.tunables, warm());
    }
    out.engine =
        std::make_unique<Driver>(source_, std::move(decider), std::move(options), inputs...);
  }
  out.ready_s = seconds();
  const auto events = trace_.cursor();
  E4R_CHECK(out.engine->run(*events));
  out.elapsed_s = seconds();
  return out;
}

// What warm starts do not show is learnt on the way.
Result<Run> Session::follow_learning(const Setup& recorded) {
  E4R_TRY(Run out, run<Follow>(recorded));
  // What a decision shows of the lists at the start serves those before it as well.
  constexpr int kMostPasses = 20;
  for (int pass = 1; options_.warm && pass < kMostPasses; ++pass) {
    const auto& learnt = static_cast<const Follow&>(*out.engine).learnt();
    if (learnt.empty()) break;
    options_.warm->learn(learnt, source_.geometry.groups);
    E4R_TRY(out, run<Follow>(recorded));
  }
  return out;
}

// Requests that overlap are decided in their order; where a decision differs that way, in the order
// of their answers, which stands if all of them are then as recorded.
Result<Run> Session::follow(const Setup& recorded) {
  constexpr int kMostPasses = 8;
  E4R_TRY(Run best, follow_learning(recorded));
  std::set<std::uint64_t> late, in_vain;
  std::set<std::uint64_t> maybe = static_cast<const Follow&>(*best.engine).maybe_late();
  for (int pass = 0; pass < kMostPasses && best.engine->agreement().follows(); ++pass) {
    const std::set<std::uint64_t> before = late;
    late.merge(maybe);
    for (const std::uint64_t request : in_vain) late.erase(request);
    if (late == before) break;
    E4R_TRY(Run run, this->run<Follow>(recorded, std::vector(late.begin(), late.end())));
    const auto& followed = static_cast<const Follow&>(*run.engine);
    maybe = followed.maybe_late();
    in_vain.insert(followed.late_in_vain().begin(), followed.late_in_vain().end());
    if (followed.late_in_vain().empty() &&
        followed.agreement().identical > best.engine->agreement().identical)
      best = std::move(run);
  }
  inputs_ = static_cast<Follow&>(*best.engine).take_inputs();
  return best;
}

Result<Run> Session::follow_recorded(Setup recorded) {
  std::vector<std::string_view> names = names_of(trace_.summary());
  if (names.empty()) names = {"legacy"};
  prefer(options_.release, trace_.summary(), names);
  Run best;
  InputTable inputs;  // of the best
  for (const std::string_view name : names) {
    recorded.policy = allocator::find_policy(name);
    E4R_TRY(Run run, follow(recorded));
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
  return run<FreeRun>(setup, inputs_);
}

Result<Run> Session::what_if(const Setup& setup) const {
  return run<WhatIf>(setup, inputs_);
}

Result<std::vector<Run>> Session::what_if(const std::vector<Setup>& setups) const {
  std::vector<std::optional<Result<Run>>> results(setups.size());
  parallel_for(thread_count(options_.threads), setups.size(),
               [&](std::size_t i) { results[i] = what_if(setups[i]); });
  std::vector<Run> runs;
  for (auto& result : results) {
    E4R_TRY(Run run, *std::move(result));
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace e4r::replay
