// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>

#include "state/buddy.h"
#include "state/prealloc.h"
#include "state/prealloc_index.h"

namespace e4r::state {

// The allocator's knowledge of one group (struct ext4_group_info). Before the group is loaded, only
// `free` is meaningful; it comes from the descriptor.
struct Group {
  std::uint32_t number = 0;
  std::uint32_t free = 0;          // free clusters in the in-core bitmap; preallocations are in use
  std::uint32_t fragments = 0;     // runs of free clusters
  std::uint32_t first_free = 0;    // no cluster below it is free
  std::uint32_t disk_free = 0;     // free clusters by the on-disk descriptor
  std::int8_t largest_order = -1;  // order of the largest free chunk; -1: full, or not loaded
  std::int8_t average_order = -1;  // list of the average free run; -1: on no list, or not loaded
  bool need_init = true;           // the buddy has not been generated
  bool read = false;               // the bitmap has been prefetched once
  bool corrupt = false;            // the allocator avoids it
  bool block_uninit = false;
  // Since the last free in this group, the device has been told of all its free space, except runs
  // below the minlen of a FITRIM (EXT4_GROUP_INFO_WAS_TRIMMED_BIT).
  bool trimmed = false;
  // The group has joined its list since FsState::arrange(), so its place there is known.
  bool moved_by_largest = false;
  bool moved_by_average = false;
  OrderCounters counters{};

  ListHook by_largest;
  ListHook by_average;
  GroupPreallocs preallocs;  // newest first
  PreallocIndex index;       // the same preallocations, by place

  bitmap::ConstWords image;              // the bitmap of the image
  std::unique_ptr<std::uint64_t[]> own;  // a copy, made at the first change
  std::unique_ptr<Buddy> buddy;          // built at the first search or change
};

using LargestList = HookedList<Group, &Group::by_largest>;
using AverageList = HookedList<Group, &Group::by_average>;

// The average-fragment list for runs of `len` clusters (mb_avg_fragment_size_order).
[[nodiscard]] std::uint32_t average_list(std::uint32_t orders, std::uint32_t len);

}  // namespace e4r::state
