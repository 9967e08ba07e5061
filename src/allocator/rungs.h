// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <limits>

#include "allocator/policy.h"

// The parts of ladders: the four criteria of Linux 6.1 (ext4_mb_good_group and the
// ext4_mb_choose_next_group_* functions), the criteria of later kernels, and the list walks that
// several criteria share.
namespace e4r::allocator {

[[nodiscard]] bool always(const Search& search);
// Whether the goal is a power of two that the buddy can serve.
[[nodiscard]] bool has_order2(const Search& search);

[[nodiscard]] std::uint32_t goal_clusters(const Search& search);
[[nodiscard]] std::uint32_t one_cluster(const Search& search);

[[nodiscard]] bool good_cr0(const Search& search, const state::Group& group);
// Whether the group is good enough for CR0 up to 5.4, which also accepts a group whose average free
// extent covers the goal.
[[nodiscard]] bool good_cr0_5_4(const Search& search, const state::Group& group);
[[nodiscard]] bool good_average(const Search& search, const state::Group& group);  // CR1
[[nodiscard]] bool good_any(const Search& search, const state::Group& group);      // CR2, CR3

// Whether the rung first searches a group for space at multiples of the stripe.
[[nodiscard]] bool is_striped(const Search& search, const Rung& rung);

[[nodiscard]] std::optional<std::uint32_t> choose_cr0(Search& search);
[[nodiscard]] std::optional<std::uint32_t> choose_cr1(Search& search);
// Asks one list after the other for a group that can serve the whole goal. Like choose_cr1, but
// does not count bad suggestions.
[[nodiscard]] std::optional<std::uint32_t> ask_cr1_lists(Search& search);

// Returns the first group of an average-fragment list whose average free extent is at least the
// goal. Looks at no more than `look` groups that the inode may use, and counts each for
// `criterion`.
[[nodiscard]] std::optional<std::uint32_t> find_in_average_list(
    Search& search, std::uint32_t list, mb::Criterion criterion,
    std::uint32_t look = std::numeric_limits<std::uint32_t>::max());

// The classes for the untrimmed goal (ext4_mb_scan_groups_p2_aligned and
// ext4_mb_scan_groups_goal_fast, 6.12.117).
[[nodiscard]] GroupClasses cr0_classes(const Search& search);
[[nodiscard]] GroupClasses cr1_classes(const Search& search);

// Resets a trimmed goal to the length that normalisation set.
void restore_goal(Search& search);

// Whether to try best-avail. Requests without HINT_DATA must not be shortened. A walk does not
// trim, so it tries the rung for them as well.
[[nodiscard]] bool trims(const Search& search);
// The classes of best-avail, each with its trimmed goal. choose_best_avail() is the counterpart for
// the order lists; each call continues with the goal as the previous call trimmed it.
[[nodiscard]] GroupClasses trimmed_classes(const Search& search);
[[nodiscard]] std::optional<std::uint32_t> choose_best_avail(Search& search);

// The rungs that all kernels share.
[[nodiscard]] constexpr Rung cr0() {
  return {.criterion = mb::Criterion::cr0,
          .meaning = "a free buddy chunk of the goal's order",
          .fast = true,
          .scan = Scan::chunks,
          .applies = has_order2,
          .least_free = goal_clusters,
          .good = good_cr0,
          .choose = choose_cr0,
          .classes = cr0_classes};
}
[[nodiscard]] constexpr Rung cr1() {
  return {.criterion = mb::Criterion::cr1,
          .meaning = "a group whose average free extent covers the goal",
          .fast = true,
          .striped = true,
          .applies = always,
          .least_free = goal_clusters,
          .good = good_average,
          .choose = choose_cr1,
          .classes = cr1_classes};
}
[[nodiscard]] constexpr Rung cr2() {
  return {.criterion = mb::Criterion::cr2,
          .meaning = "any group with as many free clusters as the goal",
          .applies = always,
          .least_free = goal_clusters,
          .good = good_any};
}
[[nodiscard]] constexpr Rung cr3() {
  return {.criterion = mb::Criterion::cr3,
          .meaning = "any group with a free cluster",
          .applies = always,
          .least_free = one_cluster,
          .good = good_any};
}

// The ladder up to 6.4.
inline constexpr std::array kFourCriteria = {cr0(), cr1(), cr2(), cr3()};

// The rung as in the ladder up to 5.4: it loads the buddy of each group with enough free clusters.
[[nodiscard]] constexpr Rung loads(Rung rung) {
  rung.fast = false;
  return rung;
}
[[nodiscard]] constexpr Rung cr0_5_4() {
  Rung rung = loads(cr0());
  rung.good = good_cr0_5_4;
  return rung;
}
inline constexpr std::array kFourCriteria5_4 = {cr0_5_4(), loads(cr1()), cr2(), cr3()};

// The rungs of 6.5 and later, whose fast rungs skip short extents.
[[nodiscard]] constexpr Rung goal_fast() {
  Rung rung = cr1();
  rung.lengths = Lengths::long_ones;
  return rung;
}
[[nodiscard]] constexpr Rung best_avail() {
  return {.criterion = mb::Criterion::best_avail,
          .meaning = "the goal, trimmed order by order, that a group's average free extent covers",
          .fast = true,
          .striped = true,
          .lengths = Lengths::long_ones,
          .applies = trims,
          .least_free = goal_clusters,
          .good = good_average,
          .tunable = &Tunables::mb_best_avail_max_trim_order,
          .choose = choose_best_avail,
          .classes = trimmed_classes,
          .leave = restore_goal};
}

// The best-avail rung of 6.5, which applies to every request.
[[nodiscard]] constexpr Rung best_avail_6_5() {
  Rung rung = best_avail();
  rung.applies = always;
  return rung;
}

// The ladders of 6.5 and later; only 6.5 has the second.
inline constexpr std::array kBestAvailLadder = {cr0(), goal_fast(), best_avail(), cr2(), cr3()};
inline constexpr std::array kBestAvailLadder6_5 = {cr0(), goal_fast(), best_avail_6_5(), cr2(),
                                                   cr3()};

}  // namespace e4r::allocator
