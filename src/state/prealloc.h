// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "state/buddy.h"
#include "state/free_index.h"

namespace e4r::state {

// The place and the use of a preallocation.
struct PreallocFacts {
  enum class Kind : std::uint8_t { inode, group };

  Kind kind = Kind::inode;
  std::uint64_t owner = 0;    // an inode number, or a CPU
  std::uint64_t block = 0;    // the first block; moves forward as a group preallocation is used
  std::uint32_t logical = 0;  // the first file block (inode kind)
  std::uint32_t len = 0;      // clusters; shrinks as a group preallocation is used
  std::uint32_t free = 0;     // clusters not yet handed out
  // The group and the clusters where it was made (FsState::enlist).
  std::uint32_t group = 0;
  std::uint32_t made_at = 0, made_len = 0;
  std::uint64_t serial = 0;  // increases with each new preallocation
  // Inode kind: one bit per cluster, set if the cluster has been handed out.
  std::vector<std::uint64_t> used;

  void mark_used(std::uint32_t first, std::uint32_t count) {
    bitmap::set_range(used, first, count);
  }
};

// A preallocation (struct ext4_prealloc_space): clusters that are in use in the group's bitmap but
// belong to no file block yet. An inode preallocation is for the file blocks from `logical` on. A
// group preallocation serves the small files of a CPU's locality group and is used from its front.
struct Prealloc : PreallocFacts {
  ListHook in_group;  // the list of the block group
  ListHook in_owner;  // the list of the inode, or a locality bucket
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
  // Keeps `pa` for reuse. `pa` must be on no list.
  void recycle(Prealloc& pa) {
    pa.used.clear();
    pa.made_len = 0;
    idle_.push_back(&pa);
  }
  // Destroys all objects. They leave their lists.
  void clear() {
    idle_.clear();
    store_.clear();
  }

 private:
  std::deque<Prealloc> store_;
  std::vector<Prealloc*> idle_;
};

// Indexes a group's preallocations by position, so that preallocations near a range are found
// without looking at all of them. Uses Prealloc::made_at and made_len, which must not change while
// a preallocation is in the index.
class PreallocIndex {
 public:
  void add(Prealloc& pa) {
    if (buckets_.size() <= last(pa)) buckets_.resize(last(pa) + 1);
    for (std::size_t b = pa.made_at >> kBits; b <= last(pa); ++b) buckets_[b].push_back(&pa);
  }
  // Does nothing if `pa` is not in the index.
  void remove(const Prealloc& pa) {
    if (pa.made_len == 0) return;
    for (std::size_t b = pa.made_at >> kBits; b <= last(pa); ++b) std::erase(buckets_[b], &pa);
  }
  // Makes this index equal to `other`. `copy_of` returns the copy of a preallocation.
  template <class CopyOf>
  void copy_from(const PreallocIndex& other, const CopyOf& copy_of) {
    buckets_.assign(other.buckets_.size(), {});
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      for (const Prealloc* pa : other.buckets_[b]) buckets_[b].push_back(copy_of(*pa));
  }
  // Calls fn(pa) for preallocations made near [start, start + len) until fn returns true. Returns
  // whether fn returned true. May pass a preallocation more than once. `len` must not be 0.
  template <class Fn>
  bool any_near(std::uint32_t start, std::uint32_t len, Fn fn) const {
    const std::size_t end =
        std::min<std::size_t>(buckets_.size(), ((start + len - 1) >> kBits) + 1);
    for (std::size_t b = start >> kBits; b < end; ++b)
      if (std::any_of(buckets_[b].begin(), buckets_[b].end(),
                      [&](Prealloc* pa) { return fn(*pa); }))
        return true;
    return false;
  }

 private:
  static constexpr std::uint32_t kBits = 7;  // 128 clusters per bucket
  static std::size_t last(const Prealloc& pa) { return (pa.made_at + pa.made_len - 1) >> kBits; }

  std::vector<std::vector<Prealloc*>> buckets_;
};

}  // namespace e4r::state
