// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <vector>

namespace e4r::state {

// A doubly linked list threaded through its elements. An element leaves the list when it is
// destroyed, or through hook.unlink(), which needs no access to the list.
using ListHook =
    boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

template <class T, ListHook T::*Hook>
using HookedList = boost::intrusive::list<T, boost::intrusive::member_hook<T, ListHook, Hook>,
                                          boost::intrusive::constant_time_size<false>>;

// A tournament tree over the free clusters of all groups. It finds the next group with at least n
// free clusters in O(log groups), so a walk can skip groups without looking at each.
class FreeIndex {
 public:
  explicit FreeIndex(std::uint32_t groups);

  void update(std::uint32_t group, std::uint32_t free);

  // The first group >= from with at least `least` free clusters, or the number of groups.
  [[nodiscard]] std::uint32_t next(std::uint32_t from, std::uint32_t least) const;

 private:
  std::uint32_t groups_;
  std::uint32_t leaves_;             // a power of two
  std::vector<std::uint32_t> most_;  // heap order: children of i are 2i and 2i+1
};

}  // namespace e4r::state
