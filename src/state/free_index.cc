// SPDX-License-Identifier: GPL-2.0-or-later
#include "state/free_index.h"

#include <algorithm>
#include <bit>

#include "state/fs_state.h"

namespace e4r::state {

FreeIndex::FreeIndex(std::uint32_t groups)
    : groups_(groups), leaves_(std::bit_ceil(std::max(groups, 1u))), most_(2ull * leaves_, 0) {}

void FreeIndex::update(std::uint32_t group, std::uint32_t free) {
  std::uint32_t at = leaves_ + group;
  most_[at] = free;
  while (at > 1) {
    at /= 2;
    const std::uint32_t most = std::max(most_[2ul * at], most_[2ul * at + 1]);
    if (most_[at] == most) break;
    most_[at] = most;
  }
}

std::uint32_t FreeIndex::next(std::uint32_t from, std::uint32_t least) const {
  if (from >= groups_) return groups_;
  std::uint32_t at = leaves_ + from;
  // Go up to the nearest subtree, at `from` or to its right, that contains a group with enough free
  // clusters.
  while (most_[at] < least) {
    while ((at & 1) == 1) {
      at /= 2;
      if (at <= 1) return groups_;
    }
    ++at;
  }
  // Go down to the leftmost such group in it.
  while (at < leaves_) {
    at *= 2;
    if (most_[at] < least) ++at;
  }
  return std::min(at - leaves_, groups_);
}

// The functions below arrange the groups on the lists of a state whose history is unknown.

namespace {

// Calls `use` with one array of lists and with the Group members for it: the hook, the flag that
// marks a moved group, and the order.
template <class Largest, class Average, class Use>
auto on_lists(OrderLists lists, Largest& largest, Average& average, const Use& use) {
  return lists == OrderLists::largest
             ? use(largest, &Group::by_largest, &Group::moved_by_largest, &Group::largest_order)
             : use(average, &Group::by_average, &Group::moved_by_average, &Group::average_order);
}

}  // namespace

void FsState::arrange(OrderLists lists, const std::vector<std::uint32_t>& rank) {
  if (!has_lists()) return;
  on_lists(lists, largest_, average_, [&](auto& all, auto, auto moved, auto) {
    for (auto& list : all)
      list.sort([&](const Group& a, const Group& b) { return rank[a.number] < rank[b.number]; });
    for (Group& group : groups_) group.*moved = false;
  });
}

bool FsState::is_behind(OrderLists lists, std::uint32_t number, std::uint32_t other_number) const {
  if (!has_lists() || number == other_number || number >= groups_.size() ||
      other_number >= groups_.size())
    return false;
  const Group& group = groups_[number];
  const Group& other = groups_[other_number];
  return on_lists(lists, largest_, average_, [&](auto& all, auto hook, auto moved, auto order) {
    if (!(group.*hook).is_linked() || !(other.*hook).is_linked() || group.*moved || other.*moved ||
        group.*order != other.*order)
      return false;
    const auto& list = all[static_cast<std::uint8_t>(group.*order)];
    return std::any_of(list.iterator_to(other), list.end(),
                       [&](const Group& g) { return &g == &group; });
  });
}

bool FsState::put_before(OrderLists lists, std::uint32_t number, std::uint32_t other_number) {
  if (!is_behind(lists, number, other_number)) return false;
  Group& group = groups_[number];
  Group& other = groups_[other_number];
  on_lists(lists, largest_, average_, [&](auto& all, auto, auto, auto order) {
    auto& list = all[static_cast<std::uint8_t>(group.*order)];
    list.splice(list.iterator_to(other), list, list.iterator_to(group));
  });
  return true;
}

FsState::GroupPlace FsState::place_of(std::uint32_t number) const {
  const Group& group = groups_[number];
  GroupPlace out{number, {}};
  if (!has_lists()) return out;
  for (const OrderLists lists : {OrderLists::largest, OrderLists::average})
    on_lists(lists, largest_, average_, [&](auto& all, auto hook, auto moved, auto order) {
      GroupPlace::OnList& on = out.lists[static_cast<std::size_t>(lists)];
      on = {group.*order, (group.*hook).is_linked(), group.*moved, number};
      if (!on.listed) return;
      const auto& list = all[static_cast<std::uint8_t>(on.order)];
      const auto at = list.iterator_to(group);
      if (at != list.begin()) on.behind = std::prev(at)->number;
    });
  return out;
}

void FsState::put_back(const GroupPlace& place) {
  if (!has_lists()) return;
  Group& group = groups_[place.group];
  for (const OrderLists lists : {OrderLists::largest, OrderLists::average})
    on_lists(lists, largest_, average_, [&](auto& all, auto hook, auto moved, auto order) {
      const GroupPlace::OnList& on = place.lists[static_cast<std::size_t>(lists)];
      const bool largest = lists == OrderLists::largest;
      // A full group may stay on a list of any order; every other group belongs on the list of its
      // order.
      const bool any = !largest && group.fragments == 0 && index_ == GroupIndex::lists_keep_full;
      if (!any && on.order != (largest ? largest_order_of(group) : average_order_of(group))) return;
      if (!on.listed) {
        (group.*hook).unlink();
      } else {
        auto& list = all[static_cast<std::uint8_t>(on.order)];
        auto at = list.begin();
        if (on.behind != group.number) {
          Group& before = groups_[on.behind];
          if (!(before.*hook).is_linked() || before.*order != on.order) return;
          at = std::next(list.iterator_to(before));
        }
        if (at != list.end() && &*at == &group) return void(group.*moved = on.moved);
        (group.*hook).unlink();
        list.insert(at, group);
      }
      group.*order = on.order;
      group.*moved = on.moved;
    });
}

TreeShape FsState::tree_shape() const {
  return TreeShaper<AverageTree>::read(tree_, [](const Group& group) { return group.number; });
}

void FsState::set_tree(const TreeShape& shape) {
  if (!has_tree(index_) || !is_tree_shape(shape) || !has_each_once(shape)) return;
  for (const ShapeNode& node : shape)
    if (node.id != ShapeNode::kNone && (node.id >= groups_.size() || groups_[node.id].need_init))
      return;
  tree_.clear();
  TreeShaper<AverageTree>::make(tree_, shape,
                                [this](std::uint32_t number) -> Group& { return groups_[number]; });
  for (Group& group : groups_)
    if (!group.need_init && !group.in_tree.is_linked()) move_in_tree(group);
}

void FsState::keep_on_average(std::uint32_t number, std::uint32_t order) {
  Group& group = groups_[number];
  const bool stays = index_ == GroupIndex::lists_keep_full && !group.need_init &&
                     group.fragments == 0 && order < geometry_.orders();
  if (stays) move_by_average(group, static_cast<int>(order));
}

}  // namespace e4r::state
