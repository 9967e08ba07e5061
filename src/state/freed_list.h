// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <unordered_map>
#include <vector>

namespace e4r::state {

// Clusters that were freed but may not be used again before the transaction that freed them has
// committed (s_freed_data_list and bb_free_root, Linux 6.1). Extents of one transaction that touch
// are merged, and the merged extent moves to the end of the list: the order in which groups get
// their clusters back decides the order of groups on the allocator's lists.
class FreedList {
 public:
  struct Entry {
    std::uint32_t group;
    std::uint32_t start;  // cluster
    std::uint32_t count;
    std::uint64_t transaction;  // any increasing number
  };

  // False, and nothing changes, when the range overlaps one that is listed already.
  bool add(std::uint32_t group, std::uint32_t start, std::uint32_t count,
           std::uint64_t transaction);

  // Removes and returns, oldest first, the entries at the head of the list that belong to
  // `transaction`; the first entry of another one ends the run.
  [[nodiscard]] std::vector<Entry> take_committed(std::uint64_t transaction);

  [[nodiscard]] const std::list<Entry>& entries() const { return list_; }
  // Calls fn(entry) for each entry of one group, by cluster.
  template <class Fn>
  void for_group(std::uint32_t group, Fn fn) const {
    const auto tree = by_group_.find(group);
    if (tree == by_group_.end()) return;
    for (const auto& [start, entry] : tree->second) fn(*entry);
  }
  [[nodiscard]] bool empty() const { return list_.empty(); }

 private:
  using ByStart = std::map<std::uint32_t, std::list<Entry>::iterator>;

  std::list<Entry> list_;
  std::unordered_map<std::uint32_t, ByStart> by_group_;
};

}  // namespace e4r::state
