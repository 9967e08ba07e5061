// SPDX-License-Identifier: GPL-2.0-or-later
// The ladder of the January 2023 posting "multiblock allocator improvements": before CR2 reads
// through groups that hold enough clusters in pieces, CR1.5 asks the average-fragment lists for the
// longest goal, up to mb_cr1_5_max_trim_order orders shorter, that some group can serve whole. In
// the form of this project's series mballoc-cr1.5 (kernel/README.md).
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

// Loads one more batch of groups, backwards as read-ahead does. False when all have had their turn.
bool load_cold_groups(Search& search) {
  state::FsState& state = search.state;
  const std::uint32_t groups = state.group_count();
  std::uint32_t first = state.next_cold();
  while (first < groups && !state.group(first).need_init) ++first;
  const std::uint32_t count = std::min(prefetch_batch(search.tunables, state.geometry(), first),
                                       groups - std::min(first, groups));
  state.next_cold() = first + count;
  for (std::uint32_t number = first; number < first + count; ++number)
    state.mark_read(state.group(number));
  for (std::uint32_t number = first + count; number-- > first;)
    if (state.group(number).need_init && state.group(number).disk_free > 0)
      search.counters.buddies_generated += state.load(number);
  return count > 0;
}

// Before CR1.5 gives up some of the goal, groups that the lists do not have yet get a chance.
std::optional<std::uint32_t> choose_cr1_or_load(Search& search) {
  const auto group = choose_cr1(search);
  if (group || search.trial || !load_cold_groups(search)) return group;
  return ask_cr1_lists(search);
}

// How many groups of one list are looked at for one that serves the trimmed goal.
constexpr std::uint32_t kMaxLook = 32;

// The shortest goal that may be trimmed to: within the limit, not below the request, a multiple of
// the stripe if there is one, else a power of two.
std::uint64_t shortest_goal(const Search& search) {
  const auto order = static_cast<std::uint64_t>(std::bit_width(std::max(search.goal_len, 1u)) - 1);
  const std::uint64_t trim = std::min(order, search.tunables.mb_cr1_5_max_trim_order);
  const std::uint64_t len = std::max<std::uint64_t>(1ull << (order - trim), search.orig.len);
  if (search.stripe == 0) return std::bit_ceil(len);
  return (len + search.stripe - 1) / search.stripe * search.stripe;
}

// Groups whose free extents average from `least` to twice that are one list (but for the shortest
// and the longest lengths, of which two share one). All of them serve the stripes that `least`
// holds; at the short end there may be some that serve the shortest goal.
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
      continue;  // CR1 has looked for that
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
    .verified = "Linux 6.1.192 with the series: 2,791,698 decisions of one writer",
    .code = "Linux 6.1.192 with the series: 668,757 decisions of the bundled captures",
    .traces = "cr1.5",
};

}  // namespace e4r::allocator::policies_of_files
