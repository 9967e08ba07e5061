// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <compare>
#include <cstdint>

namespace e4r::replay {

// The order in which overlapping operations of a trace took effect, where it is not the order of
// OpStream. OrderSearch finds it. It holds for every replay of the trace.
class Schedule {
 public:
  // Where an allocation takes effect: behind the operation that comes at event `after`. Of several
  // behind the same operation, the one with the lower turn comes first.
  struct Place {
    std::uint64_t after = 0;
    std::uint64_t turn = 0;
    [[nodiscard]] auto operator<=>(const Place&) const = default;
  };

  [[nodiscard]] bool empty() const { return moved_.empty() && commits_.empty(); }

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

 private:
  boost::unordered_flat_map<std::uint64_t, Place> moved_;            // by request
  boost::unordered_flat_map<std::uint64_t, std::uint64_t> commits_;  // by request
  std::uint64_t turns_ = 0;
};

// The order of OpStream.
inline const Schedule kTraceOrder;

}  // namespace e4r::replay
