// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <boost/intrusive/set.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "ext4/geometry.h"
#include "state/buddy.h"
#include "state/prealloc.h"

namespace e4r::state {

// A line of /proc/fs/ext4/NAME/mb_groups, as ext4_mb_seq_groups_show prints it: the buddy of a
// group. The clusters of preallocations count as in use.
struct MbGroup {
  // The number of orders that the kernel prints for every block size.
  static constexpr std::size_t kOrders = 14;
  std::uint32_t number = 0;
  std::uint32_t free = 0;        // clusters
  std::uint32_t fragments = 0;   // runs of free clusters
  std::uint32_t first_free = 0;  // no cluster below it is free; the cluster itself may be in use
  std::array<std::uint32_t, kOrders> counters = {};  // free chunks of each order
  std::size_t printed = kOrders;                     // how many of the counters the line has
};

// The geometry of a mounted file system, with the features and mount options that affect its
// allocator.
struct MountedGeometry : Geometry {
  std::uint32_t stripe = 0;  // blocks; 0 or at least 2 (ext4_get_stripe_size)
  bool desc_csum = false;    // uninit_bg or metadata_csum: BLOCK_UNINIT is valid
  bool journal = false;
  bool data_writeback = false;  // data=writeback
  bool discard = false;         // mount option discard: freed blocks are discarded
  bool extents = true;          // new inodes map blocks by extents

  // Whether freed clusters can be allocated at once rather than after their transaction has
  // committed. With data=writeback this is true for data of regular files despite the journal
  // (ext4_should_writeback_data in ext4_mb_clear_bb, Linux 6.1).
  [[nodiscard]] bool frees_at_once(bool file_data) const {
    return !journal || (data_writeback && file_data);
  }
};

// A set of group numbers that finds the next member. The lowest level has one bit per group; each
// bit of a higher level says whether any of 64 bits below it is set. Uses no memory until its first
// insertion.
class GroupSet {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] bool contains(std::uint32_t number) const {
    return !levels_.empty() && number / 64 < levels_[0].size() &&
           (levels_[0][number / 64] >> number % 64 & 1) != 0;
  }
  // `groups` is the number of groups; it must be the same in every call.
  void insert(std::uint32_t number, std::uint32_t groups) {
    if (levels_.empty()) make(groups);
    if (contains(number)) return;
    ++count_;
    for (auto& level : levels_) {
      level[number / 64] |= 1ull << number % 64;
      number /= 64;
    }
  }
  void erase(std::uint32_t number) {
    if (!contains(number)) return;
    --count_;
    for (auto& level : levels_) {
      level[number / 64] &= ~(1ull << number % 64);
      if (level[number / 64] != 0) return;
      number /= 64;
    }
  }
  // The lowest member >= from, or kNone.
  [[nodiscard]] std::uint32_t next(std::uint32_t from) const {
    std::uint64_t at = from;  // an index of bits in the level
    for (std::size_t up = 0; up < levels_.size(); ++up) {
      const std::uint64_t word = at / 64;
      if (word >= levels_[up].size()) return kNone;
      if (const std::uint64_t bits = levels_[up][word] & (~0ull << at % 64); bits != 0)
        return descend(up, word * 64 + static_cast<std::uint64_t>(std::countr_zero(bits)));
      at = word + 1;
    }
    return kNone;
  }

 private:
  void make(std::uint32_t groups) {
    std::size_t bits = groups;
    do {
      bits = (bits + 63) / 64;
      levels_.emplace_back(bits, 0);
    } while (bits > 1);
  }
  // The lowest member of the part of the set that a bit of a level summarises.
  [[nodiscard]] std::uint32_t descend(std::size_t level, std::uint64_t bit) const {
    for (; level > 0; --level)
      bit = bit * 64 + static_cast<std::uint64_t>(std::countr_zero(levels_[level - 1][bit]));
    return static_cast<std::uint32_t>(bit);
  }

  std::vector<std::vector<std::uint64_t>> levels_;  // the members, then the summaries of each level
  std::uint32_t count_ = 0;
};

// The hook of an element of a red-black tree. An element leaves the tree when it is destroyed.
using TreeHook =
    boost::intrusive::set_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

// The counters and flags of one group. Before the group is loaded, only `free` is meaningful; it
// comes from the descriptor.
struct GroupFacts {
  std::uint32_t number = 0;
  std::uint32_t free = 0;          // free clusters in the in-core bitmap; preallocations are in use
  std::uint32_t fragments = 0;     // runs of free clusters
  std::uint32_t first_free = 0;    // no cluster below it is free
  std::uint32_t disk_free = 0;     // free clusters according to the on-disk descriptor
  std::int8_t largest_order = -1;  // order of the largest free chunk; -1: full, or not loaded
  std::int8_t average_order = -1;  // list of the average free run; -1: on no list, or not loaded
  bool need_init = true;           // the buddy has not been generated
  bool read = false;               // the bitmap has been prefetched once
  bool corrupt = false;            // the allocator avoids it
  bool block_uninit = false;
  bool reclaimed = false;  // the buddy's page is gone; the next request regenerates it
  // True if all free space of the group has been discarded since the last free in it, except runs
  // below the minlen of a FITRIM (EXT4_GROUP_INFO_WAS_TRIMMED_BIT).
  bool trimmed = false;
  // True if the group has joined its list since FsState::arrange(), so that its place on the list
  // is known.
  bool moved_by_largest = false;
  bool moved_by_average = false;
  OrderCounters counters{};
};

// The allocator's knowledge of one group (struct ext4_group_info).
struct Group : GroupFacts {
  ListHook by_largest;
  ListHook by_average;
  TreeHook in_tree;
  GroupPreallocs preallocs;  // newest first
  PreallocIndex index;       // the same preallocations, by position

  bitmap::ConstWords image;              // the bitmap in the image
  std::unique_ptr<std::uint64_t[]> own;  // a copy, made at the first change
  std::unique_ptr<Buddy> buddy;          // built at the first search or change
};

// The line of a loaded group in mb_groups.
[[nodiscard]] inline MbGroup mb_group(const Group& group) {
  MbGroup out;
  out.number = group.number;
  out.free = group.free;
  out.fragments = group.fragments;
  out.first_free = group.first_free;
  std::copy_n(group.counters.begin(), std::min(out.counters.size(), group.counters.size()),
              out.counters.begin());
  return out;
}

// The length of the group's average free run, in clusters; 0: full, or not loaded.
[[nodiscard]] inline std::uint32_t average_run(const Group& group) {
  return group.fragments == 0 ? 0 : group.free / group.fragments;
}

struct ShorterAverage {
  bool operator()(const Group& a, const Group& b) const { return average_run(a) < average_run(b); }
};
// Groups in ascending order of their average free run; equal ones in order of arrival. It has the
// same shape as the kernel's tree (ext4_mb_rb_insert, Linux 5.13 to 5.19), since both follow the
// textbook (Cormen et al.). A group that becomes full keeps its place, so it may be out of order.
using AverageTree = boost::intrusive::multiset<
    Group, boost::intrusive::member_hook<Group, TreeHook, &Group::in_tree>,
    boost::intrusive::compare<ShorterAverage>, boost::intrusive::constant_time_size<false>>;

using LargestList = HookedList<Group, &Group::by_largest>;
using AverageList = HookedList<Group, &Group::by_average>;

// The average-fragment list for runs of `len` clusters (mb_avg_fragment_size_order).
[[nodiscard]] std::uint32_t average_list(std::uint32_t orders, std::uint32_t len);

}  // namespace e4r::state
