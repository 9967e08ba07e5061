// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "state/bitmap.h"
#include "state/hooked_list.h"

namespace e4r::state {

// A preallocation: clusters that are in use in the group's bitmap but belong to no file block yet
// (struct ext4_prealloc_space). An inode preallocation maps the file blocks from `logical` on; a
// group preallocation serves small files of one CPU's locality group from its front.
struct Prealloc {
  enum class Kind : std::uint8_t { inode, group };

  ListHook in_group;  // the block group's list
  ListHook in_owner;  // the inode's list or a locality bucket
  Kind kind = Kind::inode;
  std::uint64_t owner = 0;    // inode number, or CPU
  std::uint64_t block = 0;    // first block; moves forward as a group preallocation is used
  std::uint32_t logical = 0;  // first file block (inode kind)
  std::uint32_t len = 0;      // clusters; shrinks as a group preallocation is used
  std::uint32_t free = 0;     // clusters not handed out yet
  // Where it was made: its group, and the clusters there (FsState::enlist).
  std::uint32_t group = 0;
  std::uint32_t made_at = 0, made_len = 0;
  std::uint64_t serial = 0;  // larger than of those made before
  // Inode kind: which clusters of it have been handed out, one bit each.
  std::vector<std::uint64_t> used;

  void mark_used(std::uint32_t first, std::uint32_t count) {
    bitmap::set_range(used, first, count);
  }
};

using GroupPreallocs = HookedList<Prealloc, &Prealloc::in_group>;
using OwnerPreallocs = HookedList<Prealloc, &Prealloc::in_owner>;

// An inode's preallocations, the last used or made first.
struct InodePreallocs {
  OwnerPreallocs list;
  std::uint32_t active = 0;  // how many are on the list
};

// A CPU's group preallocations by fls(free) - 1, each bucket in ascending order of free.
inline constexpr std::uint32_t kLocalityBuckets = 10;
struct LocalityGroup {
  std::array<OwnerPreallocs, kLocalityBuckets> buckets;
};

// Hands out Prealloc objects with stable addresses and reuses them.
class PreallocPool {
 public:
  Prealloc& make() {
    if (idle_.empty()) return store_.emplace_back();
    Prealloc& pa = *idle_.back();
    idle_.pop_back();
    return pa;
  }
  // `pa` must be on no list.
  void recycle(Prealloc& pa) {
    pa.used.clear();
    pa.made_len = 0;
    idle_.push_back(&pa);
  }

 private:
  std::deque<Prealloc> store_;
  std::vector<Prealloc*> idle_;
};

}  // namespace e4r::state
