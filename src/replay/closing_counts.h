// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>

#include "allocator/counters.h"
#include "allocator/decision_hash.h"
#include "replay/op_stream.h"

namespace e4r::replay {

// What the closing events and answers of a trace show of the recorded kernel's own counters
// (ext4_mb_collect_stats, Linux 6.1 to 7.3). An event holds extents found and groups scanned modulo
// 65536.
struct ClosingCounts {
  std::uint64_t requests = 0;         // closed decisions
  std::uint64_t success = 0;          // requests that got all they asked for
  std::uint64_t failed = 0;           // requests that got nothing
  std::uint64_t allocated = 0;        // clusters
  std::uint64_t extents_scanned = 0;  // by searches
  std::uint64_t groups_scanned = 0;
  std::uint64_t goal_hits = 0;      // served at the start of the goal
  std::uint64_t len_goal_hits = 0;  // found as many clusters as the goal had
  // Group searches by the criterion that ended them. A search that found its goal has no criterion.
  std::array<std::uint64_t, mb::kCriteria> hits{};
  std::uint64_t nameless = 0;  // ended by a criterion whose name is unknown
  // Goals that a criterion shortened without a record of their length. Whether such a search found
  // the whole goal is unknown.
  std::uint64_t goals_hidden = 0;

  allocator::DecisionHash hash;

  void count(const Op& op, const Geometry& geometry);
};

}  // namespace e4r::replay
