// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "state/bitmap.h"
#include "state/hooked_list.h"

namespace e4r::state {

// A preallocation (struct ext4_prealloc_space): clusters that are in use in the group's bitmap but
// belong to no file block yet. An inode preallocation maps the file blocks from `logical` on. A
// group preallocation serves the small files of a CPU's locality group, from its front.
struct Prealloc {
  enum class Kind : std::uint8_t { inode, group };

  ListHook in_group;  // the list of the block group
  ListHook in_owner;  // the list of the inode, or a locality bucket
  Kind kind = Kind::inode;
  std::uint64_t owner = 0;    // an inode number, or a CPU
  std::uint64_t block = 0;    // the first block; moves forward as a group preallocation is used
  std::uint32_t logical = 0;  // the first file block (inode kind)
  std::uint32_t len = 0;      // clusters; shrinks as a group preallocation is used
  std::uint32_t free = 0;     // clusters that are not handed out yet
  // Where it was made: the group, and the clusters in it (FsState::enlist).
  std::uint32_t group = 0;
  std::uint32_t made_at = 0, made_len = 0;
  std::uint64_t serial = 0;  // increases with each preallocation that is made
  // Inode kind: a bit per cluster, set when the cluster has been handed out.
  std::vector<std::uint64_t> used;

  void mark_used(std::uint32_t first, std::uint32_t count) {
    bitmap::set_range(used, first, count);
  }
};

using GroupPreallocs = HookedList<Prealloc, &Prealloc::in_group>;
using OwnerPreallocs = HookedList<Prealloc, &Prealloc::in_owner>;

// An inode's preallocations, most recently used or made first.
struct InodePreallocs {
  OwnerPreallocs list;
  std::uint32_t active = 0;  // length of the list
};

// A CPU's group preallocations. Buckets are by fls(free) - 1, each in ascending order of `free`.
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
