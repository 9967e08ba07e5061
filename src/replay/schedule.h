// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <compare>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace e4r::replay {

// How far each commit had come in giving back what was freed, as allocations have shown that took
// place meanwhile. All numbers are those of events.
class CommitProgress {
 public:
  // A commit begins, ends. Calls are in the order of events.
  void begin(std::uint64_t event) { commits_.push_back({event, UINT64_MAX, {}, {}}); }
  void end(std::uint64_t event) {
    if (!commits_.empty()) commits_.back().end = event;
  }
  // At the event, the commit had given back what was freed up to event `freed`, or had not yet
  // given back what was freed there.
  void add_given(std::uint64_t event, std::uint64_t freed);
  void add_missing(std::uint64_t event, std::uint64_t freed);
  [[nodiscard]] bool empty() const;

  // Up to which event the commit under way had given back what was freed: halfway between what it
  // surely had and what it may have. 0: no commit is under way, or nothing shows how far it was.
  [[nodiscard]] std::uint64_t estimate(std::uint64_t event) const;

 private:
  struct Point {
    std::uint64_t event = 0;
    std::uint64_t freed = 0;
  };
  struct Commit {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::vector<Point> given;    // each behind the one before
    std::vector<Point> missing;  // likewise
  };
  std::vector<Commit> commits_;
};

// The order in which overlapping operations of a trace took effect, where it is not the order of
// OpStream. OrderSearch finds it. It holds for every replay of the trace.
class Schedule {
 public:
  Schedule() = default;
  explicit Schedule(CommitProgress progress) : progress_(std::move(progress)) {}

  // Where an allocation takes effect: behind the operation that comes at event `after`. Of several
  // behind the same operation, the one with the lower turn comes first.
  struct Place {
    std::uint64_t after = 0;
    std::uint64_t turn = 0;
    [[nodiscard]] auto operator<=>(const Place&) const = default;
  };

  [[nodiscard]] bool empty() const {
    return moved_.empty() && commits_.empty() && discards_.empty();
  }

  // The allocation with that number (Op::request) takes effect behind the event, and behind all
  // others that were moved there before. Replaces an earlier place.
  void move(std::uint64_t request, std::uint64_t after) { moved_[request] = {after, ++turns_}; }
  void keep(std::uint64_t request) { moved_.erase(request); }
  // Null: the allocation keeps its place.
  [[nodiscard]] const Place* find(std::uint64_t request) const {
    const auto found = moved_.find(request);
    return found == moved_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] std::uint64_t moves() const { return moved_.size(); }

  // Before the allocation takes effect, the transaction that is committing has given back what was
  // freed up to event `freed`.
  void commit_before(std::uint64_t request, std::uint64_t freed) { commits_[request] = freed; }
  // 0: nothing was given back just before the allocation.
  [[nodiscard]] std::uint64_t commit_before(std::uint64_t request) const {
    const auto found = commits_.find(request);
    return found == commits_.end() ? 0 : found->second;
  }
  [[nodiscard]] const CommitProgress& progress() const { return progress_; }

  // Before the allocation takes effect, that trim, or the worker (FsState::Discarding::by), has
  // given back what it sent last.
  void discarded_before(std::uint64_t request, std::uint64_t by) { discards_[request] = by; }
  [[nodiscard]] std::optional<std::uint64_t> discarded_before(std::uint64_t request) const {
    const auto found = discards_.find(request);
    return found == discards_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  boost::unordered_flat_map<std::uint64_t, Place> moved_;             // by request
  boost::unordered_flat_map<std::uint64_t, std::uint64_t> commits_;   // by request
  boost::unordered_flat_map<std::uint64_t, std::uint64_t> discards_;  // likewise
  CommitProgress progress_;
  std::uint64_t turns_ = 0;
};

// The order of OpStream.
inline const Schedule kTraceOrder;

}  // namespace e4r::replay
