// SPDX-License-Identifier: GPL-2.0-or-later
#include "shrinker/replay.h"

#include <algorithm>
#include <unordered_map>

#include "util/units.h"

namespace e4r::shrinker {
namespace {

using trace::Event;
using trace::EventKind;

// Entries that map nothing have arbitrary block numbers in the kernel, such as 0x7fdeadbeef after a
// hole that was split.
Entry entry_of(const Event& e) {
  Entry entry = {e.logical, e.count, 0, e.flags};
  if (entry.mapped()) entry.block = e.block;
  return entry;
}

std::string text_of(const Entry& e) {
  return fmt::format("[{}/{}) at {}, status {:#x}", e.logical, e.len, e.block, e.flags);
}
std::string text_of(const std::optional<Entry>& e) {
  return e ? text_of(*e) : "nothing";
}

// Applies a trace to a cache under a model. Derived classes see each lookup and each call.
class Driver {
 public:
  explicit Driver(const ReclaimModel& model) : model_(model) {
    outcome_.model = &model;
    if (model.by_use) cache_.order_by_use();
  }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  virtual ~Driver() = default;

  Status run(trace::EventSource& source) {
    for (;;) {
      E4R_TRY(const auto batch, source.next());
      if (batch.empty()) break;
      for (const Event& event : batch) accept(event);
    }
    outcome_.entries = cache_.entries();
    outcome_.reclaimable = cache_.reclaimable();
    return check_content();
  }
  [[nodiscard]] const ReclaimOutcome& outcome() const { return outcome_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] std::uint64_t contradictions() const { return contradictions_; }

 protected:
  // Called for a lookup. `answer` is the kernel's answer, `found` the model's.
  virtual void on_lookup(const Event& answer, std::uint64_t logical,
                         const StatusCache::Found& found) = 0;
  // Called when the model's call of the shrinker has ended and the kernel's begins.
  virtual void on_call(const Event&, std::uint64_t /*reclaimable before it*/, const ShrinkCall&) {}
  // Called with the kernel's figures at the end of its call.
  virtual void on_report(const Event&) {}

  [[nodiscard]] std::uint64_t number() const { return number_; }
  StatusCache& cache() { return cache_; }

 private:
  void accept(const Event& event);
  void change(const Event& event);
  void answer(const Event& event);
  void call(const Event& event);
  Status check_content() const;

  const ReclaimModel& model_;
  StatusCache cache_;
  ReclaimOutcome outcome_;
  std::unordered_map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> asked_;  // by thread
  std::uint64_t number_ = 0, events_ = 0, contradictions_ = 0, answers_ = 0;
};

void Driver::accept(const Event& event) {
  ++number_;
  switch (event.kind) {
    case EventKind::es_insert_extent:
    case EventKind::es_cache_extent:
    case EventKind::es_insert_delayed_block:
    case EventKind::es_remove_extent:
      change(event);
      break;
    case EventKind::es_lookup_enter:
      asked_[event.pid] = {event.ino, event.logical};
      break;
    case EventKind::es_lookup_exit:
      answer(event);
      break;
    case EventKind::es_shrink_scan_enter:
      call(event);
      break;
    case EventKind::es_shrink_scan_exit:
    case EventKind::es_shrink:
      on_report(event);
      break;
    default:
      return;
  }
  ++events_;
  outcome_.most_entries = std::max(outcome_.most_entries, cache_.entries());
  outcome_.most_reclaimable = std::max(outcome_.most_reclaimable, cache_.reclaimable());
}

void Driver::change(const Event& event) {
  if (event.count == 0) return;  // the kernel does nothing in this case
  if (!is_range(event.logical, event.count)) {
    ++contradictions_;
    return;
  }
  if (event.kind == EventKind::es_remove_extent)
    cache_.remove(event.ino, event.logical, event.count);
  else if (event.kind == EventKind::es_cache_extent)
    cache_.cache(event.ino, entry_of(event));
  else
    cache_.insert(event.ino, entry_of(event));
}

void Driver::answer(const Event& event) {
  const auto asked = asked_.find(event.pid);
  const bool fits = asked != asked_.end() && asked->second.first == event.ino;
  const std::uint64_t logical = fits ? asked->second.second : 0;
  if (fits) asked_.erase(asked);
  const bool proper =
      event.found == 0 || (is_range(event.logical, event.count) && logical >= event.logical &&
                           logical - event.logical < event.count);
  if (!fits || !proper || logical > kLastBlock) {
    ++contradictions_;
    return;
  }
  ++answers_;
  const StatusCache::Found found = cache_.look_up(event.ino, logical);
  ++outcome_.lookups;
  outcome_.hits += found.entry ? 1 : 0;
  outcome_.lost_hits += found.was_reclaimed ? 1 : 0;
  on_lookup(event, logical, found);
}

void Driver::call(const Event& event) {
  const std::uint64_t before = cache_.reclaimable();
  const ShrinkCall scan = model_.scan(cache_, event.needed);
  ++outcome_.calls;
  outcome_.visited += scan.visited;
  outcome_.reclaimed += scan.reclaimed;
  outcome_.empty_calls += scan.reclaimed == 0 && before > 0 && event.needed > 0 ? 1 : 0;
  outcome_.most_visited = std::max(outcome_.most_visited, scan.visited);
  on_call(event, before, scan);
}

Status Driver::check_content() const {
  if (outcome_.calls == 0 && answers_ == 0)
    return error(
        "the trace has neither calls of the shrinker nor lookups: record the ext4_es_* events "
        "(docs/shrinker.md)");
  return {};
}

// Compares the model with the recording, and corrects the model.
class Follower final : public Driver {
 public:
  explicit Follower(const ReclaimModel& model) : Driver(model) {}
  Replay take() {
    replay_.followed = outcome();
    replay_.events = events();
    replay_.contradictions = contradictions();
    return std::move(replay_);
  }

 private:
  void on_lookup(const Event& answer, std::uint64_t logical,
                 const StatusCache::Found& found) override;
  void on_call(const Event& event, std::uint64_t before, const ShrinkCall& scan) override;
  void on_report(const Event& event) override;
  void compare(Compared& with, bool equal, const auto& say);
  // Copies the recorded answer to the model, with the referenced mark that the lookup leaves.
  void learn(const Event& answer) {
    Entry entry = entry_of(answer);
    entry.flags |= trace::es::referenced;
    cache().insert(answer.ino, entry);
  }

  struct Call {
    ShrinkCall scan;
    bool open = false;  // its number of reclaimed entries has not been compared yet
  };
  Replay replay_;
  std::unordered_map<std::uint32_t, Call> calls_;  // by thread
};

void Follower::compare(Compared& with, bool equal, const auto& say) {
  with.add(equal);
  if (!equal && replay_.agreement.first.empty())
    replay_.agreement.first = fmt::format("event {}: {}", format_count(number()), say());
}

void Follower::on_lookup(const Event& answer, std::uint64_t logical,
                         const StatusCache::Found& found) {
  CacheAgreement& agreement = replay_.agreement;
  std::optional<Entry> recorded;
  if (answer.found != 0) recorded = entry_of(answer);
  if (recorded && !found.entry && !found.was_reclaimed) {
    ++agreement.unseen;
    return learn(answer);
  }
  compare(agreement.lookups, recorded == found.entry, [&] {
    return fmt::format("lookup of block {} of inode {}: recorded {}, the model has {}", logical,
                       answer.ino, text_of(recorded), text_of(found.entry));
  });
  if (recorded == found.entry) return;
  if (recorded) return learn(answer);
  cache().forget(answer.ino, logical);
}

void Follower::on_call(const Event& event, std::uint64_t before, const ShrinkCall& scan) {
  calls_[event.pid] = {scan, true};
  compare(replay_.agreement.reclaimable, event.count == before, [&] {
    return fmt::format("before a call: {} reclaimable entries recorded, the model has {}",
                       format_count(event.count), format_count(before));
  });
}

// ext4_es_shrink has the number of reclaimed entries. If that event was not recorded, the event
// that ends the call has it.
void Follower::on_report(const Event& event) {
  const auto found = calls_.find(event.pid);
  if (found == calls_.end()) return;
  Call& call = found->second;
  if (call.open)
    compare(replay_.agreement.scans,
            event.found == call.scan.reclaimed &&
                (!event.has_inputs || event.groups == call.scan.visited),
            [&] {
              return fmt::format(
                  "call of the shrinker: {} reclaimed{}, by the model {} of {} visited",
                  format_count(event.found),
                  event.has_inputs ? fmt::format(" of {} visited", format_count(event.groups)) : "",
                  format_count(call.scan.reclaimed), format_count(call.scan.visited));
            });
  call.open = false;
  if (event.kind == EventKind::es_shrink) {
    replay_.recorded_us += event.count;
    replay_.longest_us = std::max(replay_.longest_us, event.count);
    replay_.inodes_skipped += event.needed;
    return;
  }
  compare(replay_.agreement.reclaimable, event.count == cache().reclaimable(), [&] {
    return fmt::format("after a call: {} reclaimable entries recorded, the model has {}",
                       format_count(event.count), format_count(cache().reclaimable()));
  });
  calls_.erase(found);
}

class WhatIf final : public Driver {
 public:
  explicit WhatIf(const ReclaimModel& model) : Driver(model) {}

 private:
  void on_lookup(const Event& answer, std::uint64_t /*logical*/,
                 const StatusCache::Found& found) override {
    if (answer.found == 0 || found.entry) return;
    Entry entry = entry_of(answer);
    entry.flags &= ~trace::es::referenced;
    cache().insert(answer.ino, entry);
  }
};

}  // namespace

Result<Replay> follow(trace::EventSource& events, const ReclaimModel& recorded) {
  Follower follower(recorded);
  E4R_CHECK(follower.run(events));
  return follower.take();
}

Result<ReclaimOutcome> what_if(trace::EventSource& events, const ReclaimModel& model) {
  WhatIf driver(model);
  E4R_CHECK(driver.run(events));
  return driver.outcome();
}

}  // namespace e4r::shrinker
