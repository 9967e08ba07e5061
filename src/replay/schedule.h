// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "replay/op_stream.h"

namespace e4r::replay {

// The progress of each commit in returning freed extents, as shown by allocations during the
// commit. All numbers are event numbers.
class CommitProgress {
 public:
  struct Point {
    std::uint64_t event = 0;
    std::uint64_t freed = 0;
  };
  // What allocations during one commit have shown, in ascending order of events.
  struct Notes {
    std::vector<Point> given;    // the commit had returned the extents freed up to event `freed`
    std::vector<Point> missing;  // the commit had not yet returned the extent freed at that event
    [[nodiscard]] bool empty() const { return given.empty() && missing.empty(); }
  };

  // Record that a commit begins, or ends. Calls must be in the order of events.
  void begin(std::uint64_t event, Notes notes = {}) {
    commits_.push_back({event, UINT64_MAX, std::move(notes)});
  }
  void end(std::uint64_t event) {
    if (!commits_.empty()) commits_.back().end = event;
  }
  // Add to the notes on the last commit.
  void add_given(std::uint64_t event, std::uint64_t freed);
  void add_missing(std::uint64_t event, std::uint64_t freed);
  [[nodiscard]] const Notes& last() const {
    static const Notes kNothing;
    return commits_.empty() ? kNothing : commits_.back().notes;
  }
  void set_last(Notes notes) {
    if (!commits_.empty()) commits_.back().notes = std::move(notes);
  }

  // The event up to which the commit in progress had probably returned freed extents: halfway
  // between the last extent that it had certainly returned and the last one that it may have
  // returned. 0 if no commit is in progress or its progress is unknown.
  [[nodiscard]] std::uint64_t estimate(std::uint64_t event) const;
  // The event of the first free whose extent the commit in progress has certainly not returned when
  // `event` happens; UINT64_MAX if none is known.
  [[nodiscard]] std::uint64_t first_missing(std::uint64_t event) const;

 private:
  struct Commit {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    Notes notes;
  };
  // The commit in progress at the event; null if no commit is in progress.
  [[nodiscard]] const Commit* find(std::uint64_t event) const;

  std::vector<Commit> commits_;
};

// The places of overlapping operations of a trace that took effect in an order other than
// OpStream's. OrderSearch finds them. They are valid for every replay of the trace.
class Schedule {
 public:
  // Where an allocation takes effect: after the operation at event `after`. Allocations with the
  // same `after` take effect in ascending order of `turn`.
  struct Place {
    std::uint64_t after = 0;
    std::uint64_t turn = 0;
    [[nodiscard]] auto operator<=>(const Place&) const = default;
  };

  [[nodiscard]] bool empty() const {
    return moved_.empty() && frees_.empty() && commits_.empty() && discards_.empty() &&
           seen_.empty();
  }

  // The allocation with that number (Op::request) takes effect after event `after`, and after all
  // allocations that were moved to that event earlier. Replaces an earlier place.
  void move(std::uint64_t request, std::uint64_t after) { moved_[request] = {after, ++turns_}; }
  void keep(std::uint64_t request) { moved_.erase(request); }
  // Returns null if the allocation keeps its place.
  [[nodiscard]] const Place* find(std::uint64_t request) const {
    const auto found = moved_.find(request);
    return found == moved_.end() ? nullptr : &found->second;
  }
  // The free at event `event` takes effect after the operation at event `after`.
  void move_free(std::uint64_t event, std::uint64_t after) { frees_[event] = {after, ++turns_}; }
  [[nodiscard]] bool moves_frees() const { return !frees_.empty(); }
  // Returns null if the free keeps its place.
  [[nodiscard]] const Place* find_free(std::uint64_t event) const {
    const auto found = frees_.find(event);
    return found == frees_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] std::uint64_t moves() const { return moved_.size(); }

  // Before the allocation takes effect, the committing transaction returns the extents freed up to
  // event `freed`.
  void commit_before(std::uint64_t request, std::uint64_t freed) { commits_[request] = freed; }
  // The event up to which freed extents are returned just before the allocation; 0 if nothing is
  // returned.
  [[nodiscard]] std::uint64_t commit_before(std::uint64_t request) const {
    const auto found = commits_.find(request);
    return found == commits_.end() ? 0 : found->second;
  }
  // Clusters that the allocation's search saw as free (`free`) or in use, because it passed their
  // group before another thread changed them.
  struct Seen {
    std::uint32_t group = 0, start = 0, count = 0;
    bool free = false;
  };
  void see(std::uint64_t request, std::vector<Seen> seen) { seen_[request] = std::move(seen); }
  [[nodiscard]] std::span<const Seen> seen(std::uint64_t request) const {
    const auto found = seen_.find(request);
    return found == seen_.end() ? std::span<const Seen>() : found->second;
  }

  // The progress of commits that the order takes into account.
  [[nodiscard]] const CommitProgress& progress() const { return progress_; }
  [[nodiscard]] CommitProgress& progress() { return progress_; }

  // Before the allocation takes effect, the trim or the worker (FsState::Discarding::by) gives back
  // the range of its last discard.
  void discarded_before(std::uint64_t request, std::uint64_t by) { discards_[request] = by; }
  [[nodiscard]] std::optional<std::uint64_t> discarded_before(std::uint64_t request) const {
    const auto found = discards_.find(request);
    return found == discards_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  boost::unordered_flat_map<std::uint64_t, Place> moved_;             // by request
  boost::unordered_flat_map<std::uint64_t, Place> frees_;             // by event
  boost::unordered_flat_map<std::uint64_t, std::uint64_t> commits_;   // by request
  boost::unordered_flat_map<std::uint64_t, std::uint64_t> discards_;  // likewise
  boost::unordered_flat_map<std::uint64_t, std::vector<Seen>> seen_;  // likewise
  CommitProgress progress_;
  std::uint64_t turns_ = 0;
};

// The operation that lets the next allocation see the clusters that way.
[[nodiscard]] inline Op op_before(const Op& op, const Schedule::Seen& seen) {
  Op out = op_before(op, seen.free ? Op::Kind::reveal : Op::Kind::hide);
  out.group = seen.group;
  out.start = seen.start;
  out.count = seen.count;
  return out;
}

// The operation that removes extents from their groups' trees before a free, because the commit in
// progress has probably removed them by then. nullopt if it has removed none, or for other
// operations.
[[nodiscard]] inline std::optional<Op> unlink_before(const Op& op, const CommitProgress& progress) {
  const std::uint64_t freed = op.kind == Op::Kind::free ? progress.estimate(op.ordinal) : 0;
  if (freed == 0) return std::nullopt;
  Op out = op_before(op, Op::Kind::unlink_until);
  out.count = freed;
  return out;
}

// The unchanged order of OpStream.
inline const Schedule kTraceOrder;

}  // namespace e4r::replay
