// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>

#include "allocator/counters.h"
#include "allocator/decision_hash.h"
#include "replay/op_stream.h"

namespace e4r::replay {

// What the recorded kernel did, as the closing events of a trace and the answers show it: the part
// of its own counters (ext4_mb_collect_stats, Linux 6.1 to 7.3) that follows from them. An event
// holds extents found and groups scanned modulo 65536.
struct ClosingCounts {
  std::uint64_t requests = 0;         // closed decisions
  std::uint64_t success = 0;          // of these: got all that was asked for
  std::uint64_t failed = 0;           // got nothing
  std::uint64_t allocated = 0;        // clusters
  std::uint64_t extents_scanned = 0;  // by searches
  std::uint64_t groups_scanned = 0;
  std::uint64_t goal_hits = 0;      // served at the start of the goal
  std::uint64_t len_goal_hits = 0;  // found as many clusters as the goal had
  // Searches of groups that a criterion ended; one that found its goal has none.
  std::array<std::uint64_t, mb::kCriteria> hits{};
  std::uint64_t nameless = 0;  // ended by a criterion that is none we know
  // Goals that a criterion had shortened, without a record of how long they had been: whether the
  // whole goal was found does not show.
  std::uint64_t goals_hidden = 0;

  allocator::DecisionHash hash;

  void count(const Op& op, const Geometry& geometry);
};

}  // namespace e4r::replay
