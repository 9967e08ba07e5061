// SPDX-License-Identifier: GPL-2.0-or-later
// The ladder of the January 2023 posting "multiblock allocator improvements", in the form of this
// project's series mballoc-cr1.5 (kernel/README.md). CR2 scans groups whose free clusters suffice
// but may be fragmented. CR1.5 runs before CR2. It asks the average-fragment lists for the longest
// goal that some group can serve in one piece; it shortens the goal by at most
// mb_cr1_5_max_trim_order orders.
#include <algorithm>
#include <array>
#include <bit>

#include "allocator/policy.h"
#include "allocator/rungs.h"

namespace e4r::allocator::policies_of_files {
namespace {

bool has_lists(const Search& search) {
  return search.state.order_lists();
}

// How many batches of groups, starting at the goal, are checked for an unloaded group.
constexpr int kMaxColdBatches = 16;

// Whether the group has free clusters but is not yet on the lists.
bool is_cold(state::FsState& state, std::uint32_t number) {
  const state::Group& group = state.group(number);
  return group.need_init && group.disk_free > 0 && !group.corrupt;
}

// Finds a group that is not yet on the lists and can be the first group of a batch. Checks the
// first group of each of the first kMaxColdBatches batches from the goal on, then continues at a
// cursor that passes over all groups once. Returns the number of groups if no such group is left.
std::uint32_t find_cold_batch(Search& search) {
  state::FsState& state = search.state;
  const std::uint32_t groups = state.group_count();
  std::uint32_t near = search.goal.group;
  for (int looks = 0; looks < kMaxColdBatches; ++looks) {
    if (near >= groups) near = 0;
    if (is_cold(state, near)) return near;
    near += prefetch_batch(search.tunables, state.geometry(), near);
  }
  std::uint32_t& cursor = state.next_cold();
  while (cursor < groups && !is_cold(state, cursor)) ++cursor;
  return cursor;
}

// Loads one more batch of groups, last group first, as read-ahead does. Returns false if no group
// is left.
bool load_cold_groups(Search& search) {
  state::FsState& state = search.state;
  const std::uint32_t first = find_cold_batch(search);
  if (first >= state.group_count()) return false;
  const std::uint32_t count = std::min(prefetch_batch(search.tunables, state.geometry(), first),
                                       state.group_count() - first);
  for (std::uint32_t number = first; number < first + count; ++number)
    state.mark_read(state.group(number));
  for (std::uint32_t number = first + count; number-- > first;)
    if (is_cold(state, number)) search.counters.buddies_generated += state.load(number);
  return count > 0;
}

// Before CR1.5 shortens the goal, loads groups that are not yet on the lists.
std::optional<std::uint32_t> choose_cr1_or_load(Search& search) {
  const auto group = choose_cr1(search);
  if (!group && search.trial) search.unsure = true;
  if (group || search.trial || !load_cold_groups(search)) return group;
  return ask_cr1_lists(search);
}

// How many groups of one list are checked for the trimmed goal.
constexpr std::uint32_t kMaxLook = 32;

// The shortest goal to which CR1.5 may trim: within the limit and no shorter than the request. It
// is a multiple of the stripe if there is one, otherwise a power of two.
std::uint64_t shortest_goal(const Search& search) {
  const auto order = static_cast<std::uint64_t>(std::bit_width(std::max(search.goal_len, 1u)) - 1);
  const std::uint64_t trim = std::min(order, search.tunables.mb_cr1_5_max_trim_order);
  const std::uint64_t len = std::max<std::uint64_t>(1ull << (order - trim), search.orig.len);
  if (search.stripe == 0) return std::bit_ceil(len);
  return (len + search.stripe - 1) / search.stripe * search.stripe;
}

// One list holds the groups whose average free extent is at least `least` and less than twice that.
// (At the shortest and the longest lengths, two such ranges share a list.) Every group on the list
// can serve a goal of as many whole stripes as fit into `least`. On the last list tried, only some
// groups may be able to serve the shortest goal.
std::optional<std::uint32_t> choose_cr1_5(Search& search) {
  const Geometry& geometry = search.state.geometry();
  if ((search.flags & mb::cr1_5_optimized) != 0)
    ++search.counters[mb::Criterion::cr1_5].bad_suggestions;
  const std::uint64_t shortest = shortest_goal(search);
  std::uint32_t least = std::bit_floor(std::min(search.goal_len, geometry.clusters_per_group));
  for (; least > 0 && shortest < 2ull * least; least /= 2) {
    std::uint64_t len = search.stripe == 0 ? least : least / search.stripe * search.stripe;
    len = std::max(len, shortest);
    if (std::max<std::uint64_t>(least, len) >= search.goal_len)
      continue;  // CR1 has already searched for this length
    search.goal.len = static_cast<std::uint32_t>(len);
    const std::uint32_t list = state::average_list(geometry.orders(), least);
    if (const auto group = find_in_average_list(search, list, mb::Criterion::cr1_5, kMaxLook)) {
      search.flags |= mb::cr1_5_optimized;
      return group;
    }
  }
  restore_goal(search);
  return std::nullopt;
}

constexpr Rung cr1_without_short() {
  Rung rung = cr1();
  rung.lengths = Lengths::long_runs;
  rung.choose = choose_cr1_or_load;
  return rung;
}

constexpr Rung trimming() {
  return {.criterion = mb::Criterion::cr1_5,
          .meaning = "the longest goal, trimmed, that a group's average free extent covers",
          .fast = true,
          .striped = true,
          .lengths = Lengths::long_runs,
          .applies = has_lists,
          .least_free = goal_clusters,
          .good = good_average,
          .tunable = &Tunables::mb_cr1_5_max_trim_order,
          .choose = choose_cr1_5,
          .leave = restore_goal};
}

constexpr std::array kLadder = {cr0(), cr1_without_short(), trimming(), cr2(), cr3()};

}  // namespace

extern const Policy cr1_5 = {
    .name = "cr1.5",
    .summary = "CR1.5 between CR1 and CR2: trims the goal to what a group can serve whole",
    .source = "ext4 list, January 2023: \"multiblock allocator improvements\"",
    .ladder = kLadder,
    .kernel = kLinux6_1Cr1_5,
    .verified = "Linux 6.1.192 with the series: 3,095,669 decisions of one writer",
    .code = "Linux 6.1.192 with the series: 669,734 decisions of the bundled captures",
    .traces = "cr1.5",
};

}  // namespace e4r::allocator::policies_of_files
