// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <limits>

#include "policy/policy.h"

// The parts that ladders are made of: the four criteria of Linux 6.1 (ext4_mb_good_group and the
// ext4_mb_choose_next_group_* functions) and the list walks that several share.
namespace e4r::policy {

[[nodiscard]] bool always(const Search& search);
// The goal is a power of two that the buddy can serve.
[[nodiscard]] bool has_order2(const Search& search);

[[nodiscard]] std::uint32_t goal_clusters(const Search& search);
[[nodiscard]] std::uint32_t one_cluster(const Search& search);

[[nodiscard]] bool good_cr0(const Search& search, const state::Group& group);
[[nodiscard]] bool good_average(const Search& search, const state::Group& group);  // CR1
[[nodiscard]] bool good_any(const Search& search, const state::Group& group);      // CR2, CR3

[[nodiscard]] std::optional<std::uint32_t> choose_cr0(Search& search);
[[nodiscard]] std::optional<std::uint32_t> choose_cr1(Search& search);
// The lists that may have a group for the whole goal, one after the other; choose_cr1 without the
// count of bad suggestions.
[[nodiscard]] std::optional<std::uint32_t> ask_cr1_lists(Search& search);

// First group of one average-fragment list whose average is at least the goal, of the first `look`
// that the inode may use; every group looked at is counted for `criterion`.
[[nodiscard]] std::optional<std::uint32_t> find_in_average_list(
    Search& search, std::uint32_t list, trace::Criterion criterion,
    std::uint32_t look = std::numeric_limits<std::uint32_t>::max());

// Rungs of the 6.1 ladder, for ladders built around it.
[[nodiscard]] constexpr Rung cr0() {
  return {trace::Criterion::cr0,
          "a free buddy chunk of the goal's order",
          true,
          Scan::chunks,
          false,
          false,
          has_order2,
          goal_clusters,
          good_cr0,
          choose_cr0,
          nullptr};
}
[[nodiscard]] constexpr Rung cr1() {
  return {trace::Criterion::cr1,
          "a group whose average free extent covers the goal",
          true,
          Scan::extents,
          true,
          false,
          always,
          goal_clusters,
          good_average,
          choose_cr1,
          nullptr};
}
[[nodiscard]] constexpr Rung cr2() {
  return {trace::Criterion::cr2,
          "any group with as many free clusters as the goal",
          false,
          Scan::extents,
          false,
          false,
          always,
          goal_clusters,
          good_any,
          nullptr,
          nullptr};
}
[[nodiscard]] constexpr Rung cr3() {
  return {trace::Criterion::cr3,
          "any group with a free cluster",
          false,
          Scan::extents,
          false,
          false,
          always,
          one_cluster,
          good_any,
          nullptr,
          nullptr};
}

}  // namespace e4r::policy
