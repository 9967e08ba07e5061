// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/follower.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <utility>

#include "app/setups.h"
#include "guest/kernel.h"
#include "replay/intake.h"
#include "stats/layout.h"
#include "util/progress.h"

namespace e4r::watch {
namespace {

using replay::Op;

// The operations that have just taken effect, in the order in which they took effect.
class TakenOps final : public replay::Account {
 public:
  void taken(const Op& op) override { ops.push_back(op); }
  std::vector<Op> ops;
};

// For each second of the last minute, the requests whose searches took the most steps.
class CostlyRequests final : public replay::Account {
 public:
  bool decided(const replay::Decided& one) override {
    constexpr std::size_t kOfASecond = 5;
    const replay::SearchCost cost = meter_.take(one);
    if (cost.steps() == 0) return true;
    forget(one.op.time_ns);
    std::vector<CostlyRequest>& top = seconds_[one.op.time_ns / Samples::kEveryNs];
    const CostlyRequest request = {one.op.time_ns,          one.op.pid, one.op.ino,
                                   one.op.closing.orig.len, cost,       one.own.criterion};
    if (top.size() == kOfASecond) {
      if (request.steps() <= top.back().steps()) return true;
      top.pop_back();
    }
    top.insert(
        std::ranges::upper_bound(top, request.steps(), std::greater<>(), &CostlyRequest::steps),
        request);
    return true;
  }

  // The costliest requests of the minute before `now_ns`.
  [[nodiscard]] std::vector<CostlyRequest> last_minute(std::uint64_t now_ns) {
    constexpr std::size_t kMost = 20;
    forget(now_ns);
    std::vector<CostlyRequest> out;
    for (const auto& [second, top] : seconds_) out.insert(out.end(), top.begin(), top.end());
    std::ranges::stable_sort(out, std::greater<>(), &CostlyRequest::steps);
    out.resize(std::min(out.size(), kMost));
    return out;
  }

 private:
  void forget(std::uint64_t now_ns) {
    const std::uint64_t second = now_ns / Samples::kEveryNs;
    while (!seconds_.empty() && seconds_.begin()->first + 60 < second)
      seconds_.erase(seconds_.begin());
  }

  replay::SearchMeter meter_;
  std::map<std::uint64_t, std::vector<CostlyRequest>> seconds_;
};

std::uint64_t machine_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

// Passes events to the run, and shows them to a flight recorder on the way. Ends, and sets `lost`,
// where the kernel has dropped events.
class Shown final : public trace::EventSource {
 public:
  Shown(trace::EventSource& events, FlightRecorder* flight, bool& lost)
      : events_(events), flight_(flight), lost_(lost) {}
  Result<std::span<const trace::Event>> next() override {
    if (lost_) return std::span<const trace::Event>();
    auto batch = events_.next();
    if (!batch.ok()) return batch;
    const auto marker =
        std::ranges::find(*batch, trace::EventKind::lost_events, &trace::Event::kind);
    lost_ = marker != batch->end();
    const std::span<const trace::Event> present(batch->begin(), marker);
    if (flight_ != nullptr) flight_->see(present);
    return present;
  }

 private:
  trace::EventSource& events_;
  FlightRecorder* flight_;
  bool& lost_;
};

// What a FITRIM call does is known only at its end. So the follower applies each discarded range
// when its event comes, and shadows ignore FITRIM.
replay::TraceFacts facts_of(const state::Source& source) {
  return {.warm = true, .discards_recorded = source.geometry.discard, .trims = {}};
}

}  // namespace

std::unique_ptr<Follower> Follower::create(const StartPoint& start) {
  std::unique_ptr<Follower> out(new Follower(start));
  out->make();
  return out;
}

void Follower::make() {
  replay::Setup setup = {start_.policy, start_.tunables};
  setup.keep = [shadows = !start_.shadows.empty()](replay::Accounts& accounts) {
    accounts.add<CostlyRequests>();
    accounts.add<GroupHistogram>();
    if (shadows) accounts.add<TakenOps>();
  };
  auto model = replay::make_model(start_.source, *start_.policy, start_.tunables, &start_.warm);
  model_ = model.get();
  unexplained_ = find_unexplained(model_->state(), start_.warm);
  follow_ = std::make_unique<replay::OrderSearch>(start_.source, std::move(model), setup,
                                                  facts_of(start_.source));
  if (start_.keep)
    flight_ = std::make_unique<FlightRecorder>(*start_.keep, start_.source.geometry.data_writeback);
  for (const allocator::Policy* policy : start_.shadows) {
    Shadow& shadow = shadows_.emplace_back();
    shadow.policy = policy;
    auto engine = make_shadow(*policy);
    if (engine.ok())
      shadow.engine = *std::move(engine);
    else
      note_dropped(*policy, engine.error().message);
  }
}

Result<std::unique_ptr<replay::WhatIf>> Follower::make_shadow(
    const allocator::Policy& policy) const {
  replay::Setup setup = {&policy, start_.tunables};
  setup.keep = [](replay::Accounts& accounts) { accounts.add<GroupHistogram>(); };
  std::unique_ptr<allocator::Decider> decider;
  if (guest::is_kernel(policy)) {
    E4R_TRY(decider, app::make_decider(policy, start_.tunables,
                                       {start_.source, start_.image_path, "the start image",
                                        start_.warm.planted()},
                                       true));
  } else {
    decider = replay::make_model(start_.source, policy, start_.tunables, &start_.warm);
  }
  return std::make_unique<replay::WhatIf>(start_.source, std::move(decider), setup,
                                          facts_of(start_.source), follow_->inputs());
}

Follower::End Follower::run(Backlog& backlog, std::uint64_t learn_at, std::uint64_t most_kept) {
  learn_at_ = learn_at;
  most_kept_ = most_kept;
  keeps_ = backlog.state().keeps;
  const replay::OpReader* reader = nullptr;
  const auto events = backlog.read([&](std::optional<std::uint64_t> until_ns) {
    return between(backlog, until_ns, reader != nullptr && reader->holds_back());
  });
  Shown shown(*events, flight_.get(), lost_);
  replay::OpReader ops(shown, start_.source.geometry, true, replay::kTraceOrder);
  reader = &ops;
  while (!ends_) {
    const Result<const Op*> op = ops.next();
    if (!op.ok()) {
      if (ends_) break;
      why_ = op.error().message;
      return why_ == "stopped" ? End::stopped : End::failed;
    }
    const Status status = *op == nullptr ? follow_->end(ops) : take(**op);
    if (!status.ok()) {
      why_ = status.error().message;
      return End::failed;
    }
    if (!shadows_.empty()) let_shadows_decide();
    if (*op == nullptr) {
      publish();
      return lost_ ? End::events_lost : End::over;
    }
  }
  return *ends_;
}

Status Follower::take(const Op& op) {
  constexpr std::uint64_t kForgetEvery = 8192;
  pass_time(op.time_ns);
  if (flight_ != nullptr) flight_->before(op, *follow_);
  ordinal_ = std::max(ordinal_, op.ordinal);
  E4R_CHECK(follow_->advance(op));
  const replay::Agreement& agreement = follow_->agreement();
  if (agreement.last_divergence != last_divergence_) {
    last_divergence_ = agreement.last_divergence;
    const replay::Divergence& last = agreement.divergences.back();
    if (last.decision == last_divergence_)
      last_difference_ =
          fmt::format("{}: kernel {}, model {}", last.fields, last.recorded, last.modelled);
  }
  if (agreement.differing() > 0 && may_learn()) ends_ = End::learn_again;
  if (!keeps_ && ++steps_ % kForgetEvery == 0) {
    follow_->forget_inputs();
    follow_->forget_order();
  }
  return {};
}

// Lets each shadow decide the operations that took effect. A shadow whose kernel fails is dropped,
// and the others continue.
void Follower::let_shadows_decide() {
  std::vector<Op>& ops = follow_->find<TakenOps>()->ops;
  for (const Op& op : ops)
    for (std::size_t i = 0; i < shadows_.size(); ++i) {
      if (shadows_[i].engine == nullptr) continue;
      if (const Status status = shadows_[i].engine->advance(op); !status.ok())
        drop(i, status.error().message);
    }
  ops.clear();
}

void Follower::drop(std::size_t shadow, const std::string& why) {
  if (shadows_[shadow].engine == nullptr) return;
  shadows_[shadow].engine.reset();
  note_dropped(*shadows_[shadow].policy, why);
}

void Follower::note_dropped(const allocator::Policy& policy, const std::string& why) {
  dropped_.push_back(fmt::format("{}: {}", policy.name, why));
}

void Follower::drop_if_shed() {
  std::optional<std::string> why;
  {
    const std::lock_guard lock(mutex_);
    why = std::exchange(shed_, std::nullopt);
  }
  for (std::size_t i = 0; why && i < shadows_.size(); ++i) drop(i, *why);
}

Status Follower::between(Backlog& backlog, std::optional<std::uint64_t> until_ns, bool holds_back) {
  if (until_ns) pass_time(*until_ns, holds_back);
  drop_if_shed();
  if (keeps_ && backlog.state().bytes >= most_kept_) {
    keeps_ = false;
    backlog.forget();
  }
  if (asked_.exchange(false)) publish();
  return ends_ ? error("the run has ended") : Status();
}

// Called when all operations before `time_ns` have taken effect. If `holds_back` is set, some of
// them may still wait for later events.
void Follower::pass_time(std::uint64_t time_ns, bool holds_back) {
  if (time_ns < time_ns_) return;
  if (samples_.due(time_ns)) samples_.add(time_ns, counts());
  if (!holds_back && !follow_->holds()) compare_if_due(time_ns);
  time_ns_ = time_ns;
}

void Follower::compare_if_due(std::uint64_t time_ns) {
  if (!checking_) return;
  const std::lock_guard lock(mutex_);
  if (!check_before_ns_) return;
  if (!comparison_) {
    if (time_ns + GroupsComparison::kMarginNs >= *check_before_ns_)
      comparison_.emplace(model_->state());
    return;
  }
  if (!kernel_groups_ || time_ns < kernel_groups_->after_ns + GroupsComparison::kMarginNs) return;
  checked_ = comparison_->compare(*kernel_groups_, *model_, unexplained_);
  ++checks_;
  if ((!checked_->differing.empty() || checked_->unexplained > 0) && may_learn())
    ends_ = End::learn_again;
  checking_ = false;
  asked_ = true;
  comparison_.reset();
  check_before_ns_.reset();
  kernel_groups_.reset();
}

std::vector<results::Outcome> Follower::counts() const {
  std::vector<results::Outcome> out = {results::counts_of(*follow_)};
  for (const Shadow& shadow : shadows_)
    out.push_back(shadow.engine == nullptr ? results::Outcome()
                                           : results::counts_of(*shadow.engine));
  return out;
}

// Computes the figures that need a pass over all groups and files. Takes at most a fiftieth of the
// thread's time.
void Follower::look_slowly() {
  constexpr double kShare = 50;
  const std::uint64_t now = machine_ns();
  const auto since_s = static_cast<double>(now - slow_at_ns_) / 1e9;
  if (!slow_.empty() && since_s < kShare * slow_cost_s_) return;
  const Stopwatch watch;
  slow_.assign(1 + shadows_.size(), {});
  for (std::size_t i = 0; i < slow_.size(); ++i) {
    const replay::Engine* const engine = i == 0 ? follow_.get() : shadow(i - 1);
    if (engine == nullptr) continue;
    const Geometry& geometry = start_.source.geometry;
    slow_[i] = {stats::settled_free(engine->state(), stats::mebibyte_bits(geometry.block_bits)),
                stats::file_fragmentation(engine->files(), geometry),
                stats::file_layout_score(engine->files())};
  }
  stats::SpaceMap map(start_.source.geometry, Picture::kMapCells);
  std::vector<std::uint64_t> words;
  for (std::uint32_t group = 0; group < follow_->state().group_count(); ++group) {
    follow_->state().settled_words(group, words);
    map.add(group, words);
  }
  map_ = map.cells();
  slow_cost_s_ = watch.seconds();
  slow_at_ns_ = now;
}

void Follower::publish() {
  look_slowly();
  auto out = std::make_shared<Picture>();
  const replay::Agreement& agreement = follow_->agreement();
  out->followed_ns = time_ns_;
  out->decisions = agreement.requests;
  out->identical = agreement.identical;
  out->last_difference = last_difference_;
  out->checks = checks_;
  out->check = checked_;
  out->dropped = dropped_;
  out->costly = follow_->find<CostlyRequests>()->last_minute(time_ns_);
  out->map = map_;
  out->cluster_bits = start_.source.geometry.cluster_bits;
  for (std::size_t i = 0; i < slow_.size(); ++i) {
    if (i > 0 && shadow(i - 1) == nullptr) continue;
    Column& column = out->columns.emplace_back();
    column.policy = i == 0 ? start_.policy : shadows_[i - 1].policy;
    column.name = i == 0 ? "recorded" : std::string(column.policy->name);
    column.rates = samples_.rates(i);
    const replay::Engine& engine = i == 0 ? *follow_ : *shadow(i - 1);
    column.groups = engine.find<GroupHistogram>()->counts();
    for (const Window window : kWindows) {
      auto outcome = samples_.of(window, i);
      if (!outcome) continue;
      outcome->free = slow_[i].free;
      outcome->files = slow_[i].files;
      outcome->layout = slow_[i].layout;
      column.windows[static_cast<std::size_t>(window)] = std::move(outcome);
    }
  }
  const std::lock_guard lock(mutex_);
  picture_ = std::move(out);
}

std::shared_ptr<const Picture> Follower::picture() const {
  const std::lock_guard lock(mutex_);
  return picture_;
}

void Follower::shed(const std::string& why) {
  const std::lock_guard lock(mutex_);
  shed_ = why;
}

void Follower::begin_check(std::uint64_t before_ns) {
  const std::lock_guard lock(mutex_);
  check_before_ns_ = before_ns;
  kernel_groups_.reset();
  checking_ = true;
}

void Follower::end_check(KernelGroups kernel) {
  const std::lock_guard lock(mutex_);
  if (check_before_ns_) kernel_groups_ = std::move(kernel);
}

}  // namespace e4r::watch
