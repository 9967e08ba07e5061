// SPDX-License-Identifier: GPL-2.0-or-later
// The order of groups on the order lists of a state whose past is not known.
#include "state/fs_state.h"

#include <algorithm>

namespace e4r::state {
namespace {

template <class Lists>
void sort_all(Lists& lists, const std::vector<std::uint32_t>& rank) {
  for (auto& list : lists)
    list.sort([&](const Group& a, const Group& b) { return rank[a.number] < rank[b.number]; });
}

}  // namespace

void FsState::arrange(OrderLists lists, const std::vector<std::uint32_t>& rank) {
  if (!has_lists()) return;
  if (lists == OrderLists::largest)
    sort_all(largest_, rank);
  else
    sort_all(average_, rank);
  for (Group& group : groups_)
    (lists == OrderLists::largest ? group.moved_by_largest : group.moved_by_average) = false;
}

bool FsState::is_behind(OrderLists lists, std::uint32_t number, std::uint32_t other_number) const {
  if (!has_lists() || number == other_number || number >= groups_.size() ||
      other_number >= groups_.size())
    return false;
  const Group& group = groups_[number];
  const Group& other = groups_[other_number];
  const auto is = [&](const auto& all, auto hook, auto moved, auto order) {
    if (!(group.*hook).is_linked() || !(other.*hook).is_linked() || group.*moved || other.*moved ||
        group.*order != other.*order)
      return false;
    const auto& list = all[static_cast<std::uint8_t>(group.*order)];
    return std::any_of(list.iterator_to(other), list.end(),
                       [&](const Group& g) { return &g == &group; });
  };
  return lists == OrderLists::largest
             ? is(largest_, &Group::by_largest, &Group::moved_by_largest, &Group::largest_order)
             : is(average_, &Group::by_average, &Group::moved_by_average, &Group::average_order);
}

bool FsState::put_before(OrderLists lists, std::uint32_t number, std::uint32_t other_number) {
  if (!is_behind(lists, number, other_number)) return false;
  Group& group = groups_[number];
  Group& other = groups_[other_number];
  const auto move = [&](auto& all, auto order) {
    auto& list = all[static_cast<std::uint8_t>(group.*order)];
    list.splice(list.iterator_to(other), list, list.iterator_to(group));
  };
  if (lists == OrderLists::largest)
    move(largest_, &Group::largest_order);
  else
    move(average_, &Group::average_order);
  return true;
}

}  // namespace e4r::state
