// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "ext4/criterion.h"

namespace e4r::allocator {

// The counters of /proc/fs/ext4/DEV/mb_stats (struct ext4_sb_info s_bal_*, Linux 6.1), kept per
// criterion where the kernel does so. The CR1.5 posting added extents_scanned per criterion and
// len_goal_hits. `preallocated` and `discarded` count clusters; all others count events. Hits of
// Criterion::past_last are counted twice: under their own criterion, and as useless loops of the
// first rung, where the kernel's mb_stats shows them (GroupRules::counts_past_last).
struct Counters {
  struct PerCriterion {
    std::uint64_t hits = 0;
    std::uint64_t groups_considered = 0;
    std::uint64_t useless_loops = 0;
    std::uint64_t bad_suggestions = 0;
    std::uint64_t extents_scanned = 0;
    // Groups that were passed over because another CPU had locked them. The kernel checks the lock
    // both before and after it counts a group as considered (ext4_mb_scan_group, Linux 6.18), so
    // some of these groups may also be in groups_considered.
    std::uint64_t passed_over = 0;
  };
  std::array<PerCriterion, mb::kCriteria> by_criterion{};
  std::uint64_t requests = 0;
  std::uint64_t success = 0;
  std::uint64_t allocated = 0;
  std::uint64_t groups_scanned = 0;
  std::uint64_t extents_scanned = 0;
  std::uint64_t goal_hits = 0;
  std::uint64_t stream_goal_hits = 0;  // 6.17: streams served in the group of their goal
  std::uint64_t len_goal_hits = 0;
  std::uint64_t order2_hits = 0;
  std::uint64_t breaks = 0;
  std::uint64_t lost = 0;
  std::uint64_t buddies_generated = 0;
  std::uint64_t preallocated = 0;
  std::uint64_t discarded = 0;
  std::uint64_t groups_left = 0;  // skipped because another CPU held their lock (Request::held)
  // False for a kernel without mb_stats. Only the closing events of its trace are known: they give
  // requests, groups_scanned, extents_scanned and hits. Every other count is unknown and 0 here.
  bool complete = true;

  // Groups considered, summed over all criteria; empty if they are unknown.
  [[nodiscard]] std::optional<std::uint64_t> considered() const {
    if (!complete) return std::nullopt;
    std::uint64_t sum = 0;
    for (const PerCriterion& of : by_criterion) sum += of.groups_considered;
    return sum;
  }
  PerCriterion& operator[](mb::Criterion c) { return by_criterion[static_cast<std::size_t>(c)]; }
  const PerCriterion& operator[](mb::Criterion c) const {
    return by_criterion[static_cast<std::size_t>(c)];
  }
};

}  // namespace e4r::allocator
