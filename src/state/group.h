// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>

#include "state/buddy.h"
#include "state/prealloc.h"
#include "state/prealloc_index.h"

namespace e4r::state {

// What the allocator knows of one group (struct ext4_group_info). Until the group is loaded only
// `free` is meaningful: it comes from the descriptor.
struct Group {
  std::uint32_t number = 0;
  std::uint32_t free = 0;  // clusters free in the in-core bitmap (preallocations count as used)
  std::uint32_t fragments = 0;     // runs of free clusters
  std::uint32_t first_free = 0;    // no free cluster lies below it
  std::uint32_t disk_free = 0;     // free clusters of the on-disk descriptor
  std::int8_t largest_order = -1;  // of the largest free chunk; -1 when none or not loaded
  std::int8_t average_order = -1;  // list of the average free run; -1 when none or not loaded
  bool need_init = true;           // the buddy has not been generated yet
  bool read = false;               // the bitmap has been prefetched once
  bool corrupt = false;            // nothing is allocated from it
  bool block_uninit = false;
  // The device has been told of all that was free since something was last freed here, by one who
  // may have left out what was too short (EXT4_GROUP_INFO_WAS_TRIMMED_BIT).
  bool trimmed = false;
  // Has come to its list since FsState::arrange(), so that its place there is known.
  bool moved_by_largest = false;
  bool moved_by_average = false;
  OrderCounters counters{};

  ListHook by_largest;
  ListHook by_average;
  GroupPreallocs preallocs;  // the newest first
  PreallocIndex index;       // the same

  bitmap::ConstWords image;              // the bitmap as the image has it
  std::unique_ptr<std::uint64_t[]> own;  // ours, from the first change on
  std::unique_ptr<Buddy> buddy;          // from the first search or change on
};

using LargestList = HookedList<Group, &Group::by_largest>;
using AverageList = HookedList<Group, &Group::by_average>;

// Index of the average-fragment-size list for runs of `len` clusters (mb_avg_fragment_size_order).
[[nodiscard]] std::uint32_t average_list(std::uint32_t orders, std::uint32_t len);

}  // namespace e4r::state
