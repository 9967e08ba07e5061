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
  if (index_ != GroupIndex::lists) return;
  if (lists == OrderLists::largest)
    sort_all(largest_, rank);
  else
    sort_all(average_, rank);
  for (Group& group : groups_)
    (lists == OrderLists::largest ? group.moved_by_largest : group.moved_by_average) = false;
}

bool FsState::put_before(OrderLists lists, std::uint32_t number, std::uint32_t other_number) {
  if (index_ != GroupIndex::lists || number == other_number || number >= groups_.size() ||
      other_number >= groups_.size())
    return false;
  Group& group = groups_[number];
  Group& other = groups_[other_number];
  if (lists == OrderLists::largest) {
    const bool there = group.by_largest.is_linked() && other.by_largest.is_linked() &&
                       !group.moved_by_largest && !other.moved_by_largest &&
                       group.largest_order == other.largest_order;
    return there &&
           move_before(largest_[static_cast<std::size_t>(group.largest_order)], group, other);
  }
  const bool there = group.by_average.is_linked() && other.by_average.is_linked() &&
                     !group.moved_by_average && !other.moved_by_average &&
                     group.average_order == other.average_order;
  return there &&
         move_before(average_[static_cast<std::size_t>(group.average_order)], group, other);
}

}  // namespace e4r::state
