// SPDX-License-Identifier: GPL-2.0-or-later
// The criterion that Linux 6.5 put before CR2 (ext4_mb_choose_next_group_best_avail;
// ext4_mb_scan_groups_best_avail, 6.12.117). It trims the goal to powers of two, from the goal's
// own order down, and rounds each up to a multiple of the stripe.
#include <algorithm>
#include <bit>

#include "allocator/rungs.h"

namespace e4r::allocator {
namespace {

// The lowest order to which the goal may be trimmed.
std::uint32_t lowest_order(const Search& search, std::uint32_t order) {
  const std::uint64_t trim = search.tunables.mb_best_avail_max_trim_order;
  std::uint32_t low = trim > order ? 0 : order - static_cast<std::uint32_t>(trim);
  if ((1ull << low) < search.stripe)
    low = static_cast<std::uint32_t>(std::bit_width(search.stripe)) - 1;
  if ((1ull << low) < search.orig.len)
    low = static_cast<std::uint32_t>(std::bit_width(search.orig.len));
  return low;
}

}  // namespace

bool trims(const Search& search) {
  return (search.flags & mb::hint_data) != 0 || !search.state.order_lists();
}

GroupClasses trimmed_classes(const Search& search) {
  const std::uint32_t orders = search.state.geometry().orders();
  auto order = static_cast<std::uint32_t>(std::bit_width(std::max(search.goal.len, 1u))) - 1;
  if (order > orders + 1) order = orders;
  const std::uint32_t low = lowest_order(search, order);
  GroupClasses out;
  for (std::uint32_t at = order + 1; at-- > low;) {
    std::uint64_t len = 1ull << at;
    if (search.stripe > 0) len = (len + search.stripe - 1) / search.stripe * search.stripe;
    const auto goal = static_cast<std::uint32_t>(std::min<std::uint64_t>(len, UINT32_MAX));
    out.push_back({GroupClass::By::average, state::average_list(orders, goal), goal});
  }
  return out;
}

std::optional<std::uint32_t> choose_best_avail(Search& search) {
  if ((search.flags & mb::best_avail_optimized) != 0)
    ++search.counters[mb::Criterion::best_avail].bad_suggestions;
  for (const GroupClass& wanted : trimmed_classes(search)) {
    search.goal.len = wanted.goal_len;
    if (const auto group = find_in_average_list(search, wanted.order, mb::Criterion::best_avail)) {
      search.flags |= mb::best_avail_optimized;
      return group;
    }
  }
  restore_goal(search);
  return std::nullopt;
}

}  // namespace e4r::allocator
