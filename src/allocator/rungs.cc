// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocator/rungs.h"

#include <algorithm>
#include <bit>

namespace e4r::allocator {
namespace {

constexpr std::uint32_t kFlexDirScheme = 4;  // EXT4_FLEX_SIZE_DIR_ALLOC_SCHEME

// Whether the group meets the conditions that every rung has.
bool usable(const state::Group& group) {
  return !group.corrupt && group.free > 0 && group.fragments > 0;
}

}  // namespace

bool always(const Search&) {
  return true;
}
bool has_order2(const Search& search) {
  return search.order2 > 0;
}
std::uint32_t goal_clusters(const Search& search) {
  return std::max(search.goal.len, 1u);
}
std::uint32_t one_cluster(const Search&) {
  return 1;
}

namespace {

// Whether the group meets the conditions of CR0, except the conditions for its free extents.
bool usable_in_cr0(const Search& search, const state::Group& group) {
  if (!usable(group)) return false;
  const std::uint32_t flex = search.state.geometry().flex_size();
  // The first group of a flex group is reserved for directories and metadata.
  if ((search.flags & mb::hint_data) != 0 && flex >= kFlexDirScheme && group.number % flex == 0)
    return false;
  return group.free >= search.goal.len;
}

}  // namespace

bool good_cr0(const Search& search, const state::Group& group) {
  return usable_in_cr0(search, group) && group.largest_order >= static_cast<int>(search.order2);
}

bool good_cr0_5_4(const Search& search, const state::Group& group) {
  return good_cr0(search, group) ||
         (usable_in_cr0(search, group) && state::average_run(group) >= search.goal.len);
}

bool good_average(const Search& search, const state::Group& group) {
  return usable(group) && state::average_run(group) >= search.goal.len;
}

bool good_any(const Search&, const state::Group& group) {
  return usable(group);
}

bool is_striped(const Search& search, const Rung& rung) {
  return rung.striped && search.stripe != 0 && search.goal.len % search.stripe == 0;
}

Refusal refusal(const Search& search, const Rung& rung, const state::Group& group) {
  if (group.corrupt) return Refusal::corrupt;
  if (group.free == 0) return Refusal::full;
  if (group.free < rung.least_free(search)) return Refusal::few_free;
  if (group.need_init) return Refusal::not_loaded;
  if (rung.good(search, group)) return Refusal::none;
  if (rung.scan == Scan::extents) return Refusal::low_average;
  return group.largest_order < static_cast<int>(search.order2) ? Refusal::low_order
                                                               : Refusal::flex_first;
}

std::optional<std::uint32_t> choose_cr0(Search& search) {
  auto& counters = search.counters[mb::Criterion::cr0];
  if ((search.flags & mb::cr0_optimized) != 0) ++counters.bad_suggestions;
  for (std::uint32_t order = search.order2; order < search.state.geometry().orders(); ++order) {
    for (const state::Group& group : search.state.largest(order)) {
      if (group.number >= search.list_groups) continue;
      ++counters.groups_considered;
      if (!good_cr0(search, group)) {
        search.tell(&SearchObserver::on_listed, search, group);
        continue;
      }
      search.flags |= mb::cr0_optimized;
      return group.number;
    }
  }
  return std::nullopt;
}

std::optional<std::uint32_t> find_in_average_list(Search& search, std::uint32_t list,
                                                  mb::Criterion criterion, std::uint32_t look) {
  auto& counters = search.counters[criterion];
  for (const state::Group& group : search.state.average(list)) {
    if (group.number >= search.list_groups) continue;
    if (look-- == 0) break;
    ++counters.groups_considered;
    if (good_average(search, group)) return group.number;
    search.tell(&SearchObserver::on_listed, search, group);
  }
  return std::nullopt;
}

std::optional<std::uint32_t> ask_cr1_lists(Search& search) {
  const std::uint32_t orders = search.state.geometry().orders();
  for (std::uint32_t list = state::average_list(orders, search.goal.len); list < orders; ++list) {
    if (const auto group = find_in_average_list(search, list, mb::Criterion::cr1)) {
      search.flags |= mb::cr1_optimized;
      return group;
    }
  }
  return std::nullopt;
}

namespace {

// Descends from the root and returns the good group with the shortest average on that path. The
// path goes right at a group whose average is longer than the goal, so the groups on the path
// depend on the tree's shape.
std::optional<std::uint32_t> descend_cr1_tree(const Search& search) {
  const state::AverageTree& tree = search.state.tree();
  if (tree.empty()) return std::nullopt;
  const state::Group* best = nullptr;
  for (auto at = tree.root(); !!at;) {
    const state::Group& group = *at;
    const bool good = good_average(search, group);
    if (good && (best == nullptr || average_run(group) < average_run(*best))) best = &group;
    if (good && average_run(group) > search.goal.len)
      at.go_right();
    else
      at.go_left();
  }
  return best == nullptr ? std::nullopt : std::optional(best->number);
}

// The next good group in the tree's order.
std::optional<std::uint32_t> go_on_in_cr1_tree(Search& search) {
  auto& counters = search.counters[mb::Criterion::cr1];
  const state::AverageTree& tree = search.state.tree();
  const state::Group& last = search.state.group(search.last_optimal);
  if (!last.in_tree.is_linked()) return std::nullopt;
  for (auto at = std::next(tree.iterator_to(last)); at != tree.end(); ++at) {
    ++counters.groups_considered;
    if (good_average(search, *at)) return at->number;
    search.tell(&SearchObserver::on_listed, search, *at);
  }
  return std::nullopt;
}

// Chooses the next group for CR1 of Linux 5.13 to 5.19 (ext4_mb_choose_next_group_cr1).
std::optional<std::uint32_t> choose_cr1_by_tree(Search& search) {
  const bool again = (search.flags & mb::cr1_optimized) != 0;
  const auto group = again ? go_on_in_cr1_tree(search) : descend_cr1_tree(search);
  if (!group) return std::nullopt;
  search.flags |= mb::cr1_optimized;
  search.last_optimal = *group;
  return group;
}

}  // namespace

std::optional<std::uint32_t> choose_cr1(Search& search) {
  if ((search.flags & mb::cr1_optimized) != 0)
    ++search.counters[mb::Criterion::cr1].bad_suggestions;
  return state::has_tree(search.state.index()) ? choose_cr1_by_tree(search) : ask_cr1_lists(search);
}

void restore_goal(Search& search) {
  search.goal.len = search.goal_len;
}

GroupClasses cr0_classes(const Search& search) {
  GroupClasses out;
  for (std::uint32_t order = search.order2; order < search.state.geometry().orders(); ++order)
    out.push_back({GroupClass::By::largest, order});
  return out;
}

GroupClasses cr1_classes(const Search& search) {
  GroupClasses out;
  const std::uint32_t orders = search.state.geometry().orders();
  for (std::uint32_t order = state::average_list(orders, search.goal.len); order < orders; ++order)
    out.push_back({GroupClass::By::average, order});
  return out;
}

// The criterion that Linux 6.5 put before CR2 (ext4_mb_choose_next_group_best_avail;
// ext4_mb_scan_groups_best_avail, 6.12.117). It trims the goal to powers of two, from the goal's
// own order downwards, and rounds each length up to a multiple of the stripe.

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
