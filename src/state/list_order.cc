// SPDX-License-Identifier: GPL-2.0-or-later
// The order of groups on the order lists of a state whose past is not known.
#include "state/fs_state.h"

namespace e4r::state {
namespace {

template <class Lists>
void sort_all(Lists& lists, const std::vector<std::uint32_t>& rank) {
  for (auto& list : lists)
    list.sort([&](const Group& a, const Group& b) { return rank[a.number] < rank[b.number]; });
}

// Moves `group` in front of `other`, if that comes before it.
template <class List>
bool move_before(List& list, Group& group, Group& other) {
  auto at = list.iterator_to(other);
  while (at != list.end() && &*at != &group) ++at;
  if (at == list.end()) return false;
  list.splice(list.iterator_to(other), list, at);
  return true;
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

bool FsState::put_before(OrderLists lists, std::uint32_t number, std::uint32_t other_number) {
  if (!has_lists() || number == other_number || number >= groups_.size() ||
      other_number >= groups_.size())
    return false;
  const auto move = [&](auto& all, auto hook, auto moved, auto order) {
    Group& group = groups_[number];
    Group& other = groups_[other_number];
    return (group.*hook).is_linked() && (other.*hook).is_linked() && !(group.*moved) &&
           !(other.*moved) && group.*order == other.*order &&
           move_before(all[static_cast<std::size_t>(group.*order)], group, other);
  };
  return lists == OrderLists::largest
             ? move(largest_, &Group::by_largest, &Group::moved_by_largest, &Group::largest_order)
             : move(average_, &Group::by_average, &Group::moved_by_average, &Group::average_order);
}

}  // namespace e4r::state
