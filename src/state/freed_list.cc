// SPDX-License-Identifier: GPL-2.0-or-later
#include "state/freed_list.h"

#include <iterator>

namespace e4r::state {

bool FreedList::add(std::uint32_t group, std::uint32_t start, std::uint32_t count,
                    std::uint64_t transaction) {
  ByStart& tree = by_group_[group];
  auto right = tree.lower_bound(start);
  if (right != tree.end() && right->first < start + count) return false;
  if (right != tree.begin()) {
    const auto left = std::prev(right);
    const Entry& e = *left->second;
    if (e.start + e.count > start) return false;
    if (e.start + e.count == start && e.transaction == transaction) {
      start = e.start;
      count += e.count;
      list_.erase(left->second);
      tree.erase(left);
    }
  }
  if (right != tree.end() && right->first == start + count &&
      right->second->transaction == transaction) {
    count += right->second->count;
    list_.erase(right->second);
    tree.erase(right);
  }
  list_.push_back({group, start, count, transaction});
  tree.emplace(start, std::prev(list_.end()));
  return true;
}

std::vector<FreedList::Entry> FreedList::take_committed(std::uint64_t transaction) {
  std::vector<Entry> out;
  while (!list_.empty() && list_.front().transaction == transaction) {
    const Entry& e = list_.front();
    out.push_back(e);
    const auto tree = by_group_.find(e.group);
    tree->second.erase(e.start);
    if (tree->second.empty()) by_group_.erase(tree);
    list_.pop_front();
  }
  return out;
}

}  // namespace e4r::state
