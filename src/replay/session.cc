// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/session.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "allocator/model.h"
#include "replay/modes.h"
#include "replay/order_search.h"
#include "replay/recorded_policy.h"
#include "replay/side_by_side.h"
#include "replay/warm_start.h"
#include "trace/packed.h"
#include "util/parallel.h"
#include "util/progress.h"
#include "util/rng.h"

namespace e4r::replay {

namespace {

using allocator::Policy;

// The batches of groups that one search may read ahead, with the batch nearest to `group` first.
std::vector<allocator::ReadBatch> batches_around(std::uint32_t group,
                                                 const allocator::Tunables& tunables,
                                                 const state::MountedGeometry& geometry) {
  std::vector<allocator::ReadBatch> out;
  for (std::uint32_t first = 0; first < geometry.groups; first = out.back().next) {
    const std::uint32_t count = std::max(allocator::prefetch_batch(tunables, geometry, first), 1u);
    out.push_back({first, std::min(first + count, geometry.groups)});
  }
  std::ranges::stable_sort(out, {}, [group](const allocator::ReadBatch& batch) {
    if (group < batch.first) return batch.first - group;
    return group >= batch.next ? group - batch.next + 1 : 0u;
  });
  return out;
}

}  // namespace

Run::Run() = default;
Run::Run(Run&&) noexcept = default;
Run& Run::operator=(Run&&) noexcept = default;
Run::~Run() = default;

// The data of a session that its replays share.
class Session::Replays {
 public:
  Replays(const state::Source& source, trace::PackedTrace trace, SessionOptions options)
      : source_(source), trace_(std::move(trace)), options_(std::move(options)) {
    if (options_.warm) warm_ = *options_.warm;
  }

  // Follows the recorded kernel. If `beside` is true, another replay in the same pass makes its own
  // decisions.
  [[nodiscard]] Result<Followed> follow(const Setup& recorded, bool beside);
  [[nodiscard]] Result<Followed> follow_recorded(Setup recorded, bool beside);
  [[nodiscard]] Result<Run> follow_again(const Setup& setup) const {
    E4R_TRY(Followed out, follow_as<Follow>(setup, false, inputs_.schedule));
    return std::move(out.run);
  }
  // Makes the driver and runs it. `inputs` are extra arguments of the driver.
  template <class Driver, class... Inputs>
  [[nodiscard]] Result<Run> run(const Setup& setup, const Inputs&... inputs) const;

  [[nodiscard]] std::vector<Result<Run>> what_if_in_lockstep(std::span<const Setup> setups) const;

  [[nodiscard]] Status in_other_orders(
      const Setup& setup, std::size_t orders, unsigned threads,
      const std::function<void(std::size_t number, const Run& run)>& see) const;

  [[nodiscard]] Result<SideBySide> side_by_side(Setup setup, unsigned writers);

  [[nodiscard]] const trace::PackedTrace& trace() const { return trace_; }
  [[nodiscard]] const InputTable& inputs() const { return inputs_; }
  [[nodiscard]] const WarmStart* warm() const { return warm_ ? &*warm_ : nullptr; }
  [[nodiscard]] std::vector<const Policy*> allowed() const {
    std::vector<const Policy*> out = candidate_policies(trace_.summary(), options_.release);
    std::erase_if(out, [this](const Policy* policy) {
      return !allocator::stands_for(*policy, options_.release);
    });
    return out;
  }

 private:
  // Whether the setup's policy may follow better than the best policy so far: its first pass
  // differs from the trace in fewer decisions than the best policy's first pass, or in as many but
  // with other decisions.
  [[nodiscard]] Result<bool> may_follow_better(const Setup& setup) const;

  // Makes the driver but processes no event.
  template <class Driver, class... Inputs>
  [[nodiscard]] Result<std::unique_ptr<Engine>> make_engine(const Setup& setup,
                                                            const Inputs&... inputs) const;
  // Makes the driver and measures how long that took.
  template <class Driver, class... Inputs>
  [[nodiscard]] Result<Run> made_ready(const Setup& setup, const Inputs&... inputs) const;
  [[nodiscard]] TraceFacts facts() const;
  [[nodiscard]] TraceStart start() const {
    return {warm() != nullptr, warm_ ? warm_->checkpoint.get() : nullptr};
  }
  // Runs a driver that follows the recorded kernel. If `beside` is true, a second replay in the
  // same pass makes its own decisions.
  template <class Driver, class... Order>
  [[nodiscard]] Result<Followed> follow_as(const Setup& setup, bool beside,
                                           const Order&... order) const;
  [[nodiscard]] Result<Followed> find_order(const Setup& recorded, bool beside);
  [[nodiscard]] Result<bool> improve(const Setup& recorded, Followed& best) const;
  [[nodiscard]] Status place_otherwise(const Setup& recorded, Followed& best);
  [[nodiscard]] Status find_early_reads(const Setup& recorded, Followed& best);
  [[nodiscard]] Status read_trims();

  const state::Source& source_;
  trace::PackedTrace trace_;
  SessionOptions options_;
  std::optional<WarmStart> warm_;
  InputTable inputs_;
  std::vector<RecordedTrim> trims_;
  // The decisions of a first pass.
  struct FirstPass {
    std::uint64_t differing = 0;  // decisions that differ from the trace
    std::uint64_t hash = 0;       // of all decisions
  };
  FirstPass first_pass_;       // of the last follow()
  FirstPass best_first_;       // of the best policy
  std::optional<OpList> ops_;  // for replays that change the order of operations
};

TraceFacts Session::Replays::facts() const {
  const TraceStart from = start();
  const bool discards = trace_.summary().count(trace::EventKind::discard_blocks) > 0 ||
                        (from.from != nullptr && source_.geometry.discard);
  return {from.loaded, from.from, discards, trims_, inputs_.early_reads};
}

template <class Driver, class... Inputs>
Result<std::unique_ptr<Engine>> Session::Replays::make_engine(const Setup& setup,
                                                              const Inputs&... inputs) const {
  std::unique_ptr<Engine> engine;
  if constexpr (std::is_base_of_v<Follow, Driver>) {
    auto follow = std::make_unique<Driver>(
        source_, make_model(source_, *setup.policy, setup.tunables, warm()), setup, facts(),
        inputs...);
    if constexpr (std::is_same_v<OrderSearch, Driver>) follow->repeat_commits();
    engine = std::move(follow);
  } else {
    std::unique_ptr<allocator::Decider> decider;
    if (setup.make) {
      E4R_TRY(decider, setup.make(setup, warm()));
    } else {
      decider = make_model(source_, *setup.policy, setup.tunables, warm());
    }
    engine = std::make_unique<Driver>(source_, std::move(decider), setup, facts(), inputs...);
  }
  if (options_.progress)
    engine->report_to([this, name = setup.policy->name](std::uint64_t events) {
      return options_.progress(name, events);
    });
  return engine;
}

template <class Driver, class... Inputs>
Result<Run> Session::Replays::made_ready(const Setup& setup, const Inputs&... inputs) const {
  const Stopwatch watch;
  Run out;
  E4R_TRY(out.engine, make_engine<Driver>(setup, inputs...));
  out.ready_s = watch.seconds();
  return out;
}

template <class Driver, class... Inputs>
Result<Run> Session::Replays::run(const Setup& setup, const Inputs&... inputs) const {
  const Stopwatch watch;
  const Stoppable stoppable(
      [this, &setup] { return options_.progress && !options_.progress(setup.policy->name, 0); });
  E4R_TRY(Run out, made_ready<Driver>(setup, inputs...));
  const auto events = trace_.cursor();
  E4R_CHECK(out.engine->run(*events));
  out.elapsed_s = watch.seconds();
  return out;
}

std::vector<Result<Run>> Session::Replays::what_if_in_lockstep(
    std::span<const Setup> setups) const {
  std::vector<Result<Run>> runs;
  if (setups.size() == 1) {  // a single replay needs no copy of the operations
    runs.push_back(run<WhatIf>(setups.front(), inputs_));
    return runs;
  }
  std::vector<Engine*> engines;
  for (const Setup& setup : setups) {
    runs.push_back(made_ready<WhatIf>(setup, inputs_));
    if (runs.back().ok()) engines.push_back(runs.back()->engine.get());
  }
  const auto events = trace_.cursor();
  OpReader ops(*events, source_.geometry, start(), inputs_.schedule);
  const std::vector<LockstepEnd> ends = run_in_lockstep(ops, engines);
  auto end = ends.begin();
  for (Result<Run>& run : runs) {
    if (!run.ok()) continue;
    run->elapsed_s = run->ready_s + end->seconds;
    if (!end->status.ok()) run = end->status.error();
    ++end;
  }
  return runs;
}

Status Session::Replays::in_other_orders(
    const Setup& setup, std::size_t orders, unsigned threads,
    const std::function<void(std::size_t number, const Run& run)>& see) const {
  if (inputs_.overlapping.empty()) return {};
  // Sorted in trace order, so that order number N is the same in every run.
  std::vector<InputTable::Overlapping> overlapping = inputs_.overlapping;
  std::ranges::sort(overlapping, {}, &InputTable::Overlapping::asked_at);
  std::vector<Status> results(orders + 1);
  parallel_for(threads, results.size(), [&](std::size_t number) {
    InputTable inputs = inputs_;
    Rng rng(number);
    for (const InputTable::Overlapping& one : overlapping) {
      if (number == 0) break;
      inputs.schedule.keep(one.request);
      if (one.closed_at <= one.asked_at) continue;
      const std::uint64_t later = rng.below(one.closed_at - one.asked_at);
      if (later > 0) inputs.schedule.move(one.request, one.asked_at + later);
    }
    const auto ran = run<WhatIf>(setup, inputs);
    if (ran.ok())
      see(number, *ran);
    else
      results[number] = ran.error();
  });
  for (const Status& result : results) E4R_CHECK(result);
  return {};
}

Result<SideBySide> Session::Replays::side_by_side(Setup setup, unsigned writers) {
  if (!ops_) {
    const auto events = trace_.cursor();
    E4R_TRY(ops_, read_ops(*events, source_.geometry, start(), inputs_.schedule));
  }
  setup.writers = assign_files(*ops_, writers);
  E4R_TRY(std::unique_ptr<Engine> engine, make_engine<WhatIf>(setup, inputs_));
  return SideBySide(*ops_, std::move(engine), *setup.writers);
}

Status Session::Replays::read_trims() {
  const trace::TraceSummary& summary = trace_.summary();
  if (!trims_.empty() || summary.count(trace::EventKind::trim_all_free) == 0) return {};
  E4R_TRY(trims_, recorded_trims(*trace_.cursor(), source_.geometry, facts().discards_recorded,
                                 warm() != nullptr));
  return {};
}

template <class Driver, class... Order>
Result<Followed> Session::Replays::follow_as(const Setup& setup, bool beside,
                                             const Order&... order) const {
  Followed out;
  if (!beside) {
    E4R_TRY(out.run, run<Driver>(setup, order...));
    return out;
  }
  E4R_TRY(out.run, made_ready<Driver>(setup, order...));
  auto& follow = static_cast<Follow&>(*out.run.engine);
  InputTable found;
  found.schedule = follow.inputs().schedule;
  E4R_TRY(Run alone, made_ready<FreeRun>(setup, found));
  const auto events = trace_.cursor();
  OpReader ops(*events, source_.geometry, start(), found.schedule);
  const auto [followed, decided] = run_beside(ops, follow, *alone.engine, found, options_.threads);
  E4R_CHECK(followed.status);
  out.run.elapsed_s = out.run.ready_s + followed.seconds;
  alone.elapsed_s = alone.ready_s + decided.seconds;
  if (decided.status.ok()) out.alone = std::move(alone);
  return out;
}

// Finds the order of overlapping allocations, and learns the order of the lists of a warm file
// system. Follows again in the order that was found, unless the search decided in that order.
Result<Followed> Session::Replays::find_order(const Setup& recorded, bool beside) {
  const auto search_of = [](const Followed& searched) -> OrderSearch& {
    return static_cast<OrderSearch&>(*searched.run.engine);
  };
  // Frees the memory of the search before it follows.
  const auto follow_in_order = [&](Followed searched) {
    const Schedule order = search_of(searched).found();
    searched = {};
    return follow_as<Follow>(recorded, beside, order);
  };
  E4R_TRY(Followed out, follow_as<OrderSearch>(recorded, beside));
  first_pass_ = {out.run.engine->agreement().differing(), out.run.engine->hash().value()};
  // A decision that shows the order of the lists at the start can also correct earlier decisions,
  // so the trace is followed again.
  constexpr int kMostPasses = 20, kMostInVain = 2;
  int in_vain = 0;
  for (int pass = 1; warm_ && pass < kMostPasses && in_vain < kMostInVain; ++pass) {
    const std::vector<WarmStart::Precedence> learnt = search_of(out).learnt();
    if (learnt.empty()) break;
    warm_->learn(learnt, source_.geometry.groups);
    const std::uint64_t differing = out.run.engine->agreement().differing();
    // If only these decisions differ, the order that was found is probably right.
    if (differing == learnt.size()) {
      E4R_TRY(out, follow_in_order(std::move(out)));
      if (out.run.engine->agreement().differing() == 0) return out;
    }
    E4R_TRY(out, follow_as<OrderSearch>(recorded, false));
    in_vain = out.run.engine->agreement().differing() < differing ? 0 : in_vain + 1;
  }
  E4R_CHECK(warm_ ? place_otherwise(recorded, out) : find_early_reads(recorded, out));
  if (search_of(out).decides_in_found_order()) return out;
  return follow_in_order(std::move(out));
}

// Follows once more. Replaces `best` by the new run if fewer decisions differ in it. Returns
// whether it replaced `best`.
Result<bool> Session::Replays::improve(const Setup& recorded, Followed& best) const {
  Result<Followed> next = follow_as<OrderSearch>(recorded, false);
  if (!next.ok()) return next.error();
  if (next->run.engine->agreement().differing() >= best.run.engine->agreement().differing())
    return false;
  best = *std::move(next);
  return true;
}

// Tries other places for preallocations that are known only from counters, since their places may
// be wrong. Does so in the group of the first differing decision, and repeats this as long as fewer
// decisions differ. If many decisions differ, the policy is the cause, and nothing is tried.
Status Session::Replays::place_otherwise(const Setup& recorded, Followed& best) {
  constexpr std::uint64_t kMostDecisions = 5'000'000;  // total of all tries
  std::set<std::uint32_t> tried;
  std::uint64_t decisions = 0;
  for (;;) {
    const Agreement agreement = best.run.engine->agreement();
    if (agreement.differing() == 0 || agreement.differing() > agreement.identical) return {};
    const std::uint32_t group = agreement.divergences.front().group;
    const auto hidden = std::ranges::find(warm_->hidden, group, &WarmStart::Hidden::group);
    if (hidden == warm_->hidden.end() || !tried.insert(group).second) return {};
    std::size_t taken = hidden->taken;
    for (std::size_t i = 0; i < hidden->answers.size(); ++i) {
      if (i == taken) continue;
      decisions += agreement.requests;
      if (decisions > kMostDecisions || best.run.engine->agreement().differing() == 0) break;
      hidden->taken = i;
      E4R_TRY(const bool better, improve(recorded, best));
      if (better) taken = i;
    }
    hidden->taken = taken;
  }
}

// Looks for bitmaps that read-ahead found in memory. First assumes this for all groups. If that
// does not help, assumes it for single batches around the first decision that differs. Keeps an
// assumption only if fewer decisions differ with it.
Status Session::Replays::find_early_reads(const Setup& recorded, Followed& best) {
  constexpr std::size_t kMostBatches = 16;             // for one decision
  constexpr std::uint64_t kMostDecisions = 5'000'000;  // in all tries
  const allocator::ReadAheadRules& rules = recorded.policy->kernel.read_ahead;
  if (!rules.reads || rules.without_reads) return {};
  const state::MountedGeometry& geometry = source_.geometry;
  std::uint64_t decisions = 0;
  // Keeps `reads` if fewer decisions differ with them than without.
  const auto improves = [&](std::vector<allocator::ReadBatch> reads) -> Result<bool> {
    decisions += best.run.engine->agreement().requests;
    std::swap(inputs_.early_reads, reads);
    E4R_TRY(const bool better, improve(recorded, best));
    if (!better) std::swap(inputs_.early_reads, reads);
    return better;
  };
  const auto agreement = [&]() -> const Agreement& { return best.run.engine->agreement(); };
  if (agreement().differing() == 0) return {};
  E4R_TRY(const bool at_once, improves({{0, geometry.groups}}));
  if (at_once) return {};
  while (agreement().differing() > 0 && agreement().differing() < agreement().identical) {
    bool better = false;
    std::size_t tries = 0;
    for (const allocator::ReadBatch& batch :
         batches_around(agreement().divergences.front().group, recorded.tunables, geometry)) {
      if (++tries > kMostBatches || decisions > kMostDecisions) break;
      std::vector<allocator::ReadBatch> reads = inputs_.early_reads;
      reads.push_back(batch);
      E4R_TRY(better, improves(std::move(reads)));
      if (better) break;
    }
    if (!better) break;
  }
  return {};
}

Result<Followed> Session::Replays::follow(const Setup& recorded, bool beside) {
  E4R_CHECK(read_trims());
  inputs_.early_reads.clear();
  E4R_TRY(Followed best, find_order(recorded, beside));
  std::vector<allocator::ReadBatch> early_reads = std::move(inputs_.early_reads);
  inputs_ = static_cast<Follow&>(*best.run.engine).take_inputs();
  inputs_.early_reads = std::move(early_reads);
  return best;
}

Result<bool> Session::Replays::may_follow_better(const Setup& setup) const {
  Setup bare = setup;
  bare.keep = nullptr;
  E4R_TRY(const std::unique_ptr<Engine> trial, make_engine<OrderSearch>(bare));
  const auto& search = static_cast<const OrderSearch&>(*trial);
  const auto events = trace_.cursor();
  OpReader ops(*events, source_.geometry, start(), kTraceOrder);
  for (;;) {
    E4R_TRY(const Op* op, ops.next());
    const Status status = op == nullptr ? trial->end(ops) : trial->advance(*op);
    if (!search.may_repeat() && trial->agreement().differing() > best_first_.differing)
      return false;
    E4R_CHECK(status);
    if (op == nullptr)
      return trial->agreement().differing() < best_first_.differing ||
             trial->hash().value() != best_first_.hash;
  }
}

// Tries the policies of the kernel's release first, and others if these do not suffice, since a
// kernel may be patched or its release unknown.
Result<Followed> Session::Replays::follow_recorded(Setup recorded, bool beside) {
  constexpr std::size_t kAlwaysTried = 2;
  std::vector<const Policy*> policies = candidate_policies(trace_.summary(), options_.release);
  if (policies.empty()) policies = {default_policy()};
  const std::size_t standing = allowed().size();
  Followed best;
  InputTable inputs;  // inputs of the best pass
  for (std::size_t i = 0; i < policies.size(); ++i) {
    recorded.policy = policies[i];
    if (best.run.engine != nullptr) {
      const Agreement& agreement = best.run.engine->agreement();
      if (agreement.differing() == 0) break;
      if (i == standing && standing > 0 && agreement.reaches(Agreement::kSuffices)) break;
      if (i >= std::max(standing, kAlwaysTried) && !agreement.reaches(Agreement::kNear)) break;
      inputs_.early_reads.clear();
      E4R_TRY(const bool may_be_better, may_follow_better(recorded));
      if (!may_be_better) continue;
    }
    Result<Followed> followed = follow(recorded, beside);
    if (!followed.ok()) return followed.error();
    if (best.run.engine == nullptr ||
        followed->run.engine->agreement().identical > best.run.engine->agreement().identical) {
      best = *std::move(followed);
      best_first_ = first_pass_;
      inputs = std::move(inputs_);
    }
  }
  inputs_ = std::move(inputs);
  return best;
}

Session::Session(const state::Source& source, trace::PackedTrace trace, SessionOptions options)
    : replays_(std::make_unique<Replays>(source, std::move(trace), std::move(options))) {}

Session::~Session() = default;

Result<Run> Session::follow(const Setup& recorded) {
  E4R_TRY(Followed followed, replays_->follow(recorded, false));
  return std::move(followed.run);
}

Result<Run> Session::follow_recorded(Setup recorded) {
  E4R_TRY(Followed followed, replays_->follow_recorded(std::move(recorded), false));
  return std::move(followed.run);
}

Result<Run> Session::follow_again(const Setup& setup) const {
  return replays_->follow_again(setup);
}

Result<Followed> Session::follow_beside_alone(const Setup& setup) {
  E4R_TRY(Followed out, setup.policy == nullptr ? replays_->follow_recorded(setup, true)
                                                : replays_->follow(setup, true));
  if (out.alone) return out;
  Setup same = setup;
  same.policy = &out.run.engine->policy();
  if (Result<Run> alone = free_run(same); alone.ok()) out.alone = *std::move(alone);
  return out;
}

Result<Run> Session::free_run(const Setup& setup) {
  return replays_->run<FreeRun>(setup, replays_->inputs());
}

Result<Run> Session::what_if(const Setup& setup) const {
  return replays_->run<WhatIf>(setup, replays_->inputs());
}

std::vector<Result<Run>> Session::what_if_in_lockstep(std::span<const Setup> setups) const {
  return replays_->what_if_in_lockstep(setups);
}

Result<std::vector<Run>> Session::what_if(const std::vector<Setup>& setups,
                                          unsigned threads) const {
  threads = thread_count(threads);
  const std::size_t size = in_lockstep(setups, threads);
  std::vector<std::vector<Result<Run>>> results((setups.size() + size - 1) / size);
  parallel_for(threads, results.size(), [&](std::size_t i) {
    const auto from = std::span(setups).subspan(i * size);
    results[i] = what_if_in_lockstep(from.first(std::min(size, from.size())));
  });
  std::vector<Run> runs;
  for (auto& some : results)
    for (auto& result : some) {
      E4R_TRY(Run run, std::move(result));
      runs.push_back(std::move(run));
    }
  return runs;
}

std::size_t Session::in_lockstep(std::span<const Setup> setups, unsigned threads) const {
  constexpr std::size_t kMost = 8;  // with 8 setups, reading the trace is a small part of the work
  constexpr std::uint64_t kMostEvents = 1 << 24;  // for all setups together: a few seconds
  const auto in_a_process = [](const Setup& setup) { return setup.make != nullptr; };
  if (std::ranges::any_of(setups, in_a_process)) return 1;
  const std::uint64_t events = std::max<std::uint64_t>(trace().events(), 1);
  const std::size_t most = std::clamp<std::uint64_t>(kMostEvents / events, 1, kMost);
  const std::size_t rounds = (setups.size() + most * threads - 1) / (most * threads);
  const std::size_t parts = std::max<std::size_t>(rounds * threads, 1);
  return std::max<std::size_t>((setups.size() + parts - 1) / parts, 1);
}

Status Session::in_other_orders(
    const Setup& setup, std::size_t orders, unsigned threads,
    const std::function<void(std::size_t number, const Run& run)>& see) const {
  return replays_->in_other_orders(setup, orders, thread_count(threads), see);
}

Result<SideBySide> Session::side_by_side(Setup setup, unsigned writers) {
  return replays_->side_by_side(std::move(setup), writers);
}

const trace::PackedTrace& Session::trace() const {
  return replays_->trace();
}

std::vector<const Policy*> Session::allowed() const {
  return replays_->allowed();
}

const WarmStart* Session::warm() const {
  return replays_->warm();
}

std::uint64_t Session::groups_read_early() const {
  std::uint64_t out = 0;
  for (const allocator::ReadBatch& batch : replays_->inputs().early_reads)
    out += batch.next - batch.first;
  return out;
}

}  // namespace e4r::replay
