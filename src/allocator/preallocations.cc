// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocator/preallocations.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <vector>

#include "ext4/criterion.h"

namespace e4r::allocator {

using state::Prealloc;
namespace bitmap = state::bitmap;

Prealloc* Preallocations::find_of_inode(const Request& request, const Search& search) {
  if ((search.flags & mb::hint_data) == 0) return nullptr;
  const state::MountedGeometry& geometry = state_.geometry();
  state::InodePreallocs* mine = state_.find_inode_preallocs(request.ino);
  if (mine == nullptr) return nullptr;
  for (Prealloc& pa : mine->list) {
    const std::uint64_t end = pa.logical + geometry.to_blocks(pa.len);
    if (search.orig.logical < pa.logical || search.orig.logical >= end || pa.free == 0) continue;
    // The cluster was handed out before. Only a contradictory trace requests it again.
    if (bitmap::test(pa.used, (search.orig.logical - pa.logical) >> geometry.cluster_bits))
      continue;
    if (!geometry.extents && pa.block + geometry.to_blocks(pa.len) > kMaxBlockFilePhys) continue;
    if (rules_.checks_goal && (search.flags & mb::hint_goal_only) != 0 && !has_goal(search, pa))
      continue;
    return &pa;
  }
  return nullptr;
}

bool Preallocations::has_goal(const Search& search, const Prealloc& pa) const {
  const Geometry& geometry = state_.geometry();
  const std::uint32_t offset = search.goal.logical - pa.logical;
  return geometry.block_of(search.goal.group, search.goal.start) == pa.block + offset &&
         search.goal.len <= pa.len - (offset >> geometry.cluster_bits);
}

// Finds the preallocation of the locality group that has enough room and is nearest to the goal.
Prealloc* Preallocations::find_of_cpu(const Request& request, const Search& search) {
  if ((search.flags & mb::hint_group_alloc) == 0) return nullptr;
  const std::uint64_t goal = state_.geometry().block_of(search.goal.group, search.goal.start);
  const auto distance = [&](const Prealloc& pa) {
    return std::llabs(static_cast<long long>(goal - pa.block));
  };
  const int order = fls(search.orig.len) - 1;
  const auto first =
      static_cast<std::uint32_t>(std::min(order, static_cast<int>(state::kLocalityBuckets) - 1));
  Prealloc* nearest = nullptr;
  state::LocalityGroup& mine = state_.locality(request.cpu);
  for (std::uint32_t i = first; i < state::kLocalityBuckets; ++i)
    for (Prealloc& pa : mine.buckets[i])
      if (pa.free >= search.orig.len && (nearest == nullptr || distance(*nearest) > distance(pa)))
        nearest = &pa;
  return nearest;
}

Extent Preallocations::clusters_for(const Search& search, const Prealloc& pa) const {
  const Geometry& geometry = state_.geometry();
  std::uint32_t offset = 0;
  std::uint32_t len = search.orig.len;
  const std::uint32_t front = pa.made_len - pa.len;  // handed out already (group kind)
  if (pa.kind == Prealloc::Kind::inode) {
    offset = (search.orig.logical - pa.logical) >> geometry.cluster_bits;
    len = bitmap::find_set(pa.used, std::min(pa.len, offset + len), offset) - offset;
  }
  return {pa.group, pa.made_at + front + offset, len, search.best.logical};
}

void Preallocations::use(Search& search, Prealloc& pa) {
  const Geometry& geometry = state_.geometry();
  const Extent part = clusters_for(search, pa);
  if (pa.kind == Prealloc::Kind::inode) {
    pa.mark_used((search.orig.logical - pa.logical) >> geometry.cluster_bits, part.len);
    pa.free -= std::min(part.len, pa.free);
  }
  search.best = part;
  search.status = Search::Status::found;
}

Prealloc& Preallocations::make(const Request& request, Search& search,
                               const std::vector<std::uint64_t>& held) {
  const bool for_group = (search.flags & mb::hint_group_alloc) != 0;
  Prealloc& pa = state_.new_prealloc();
  pa.kind = for_group ? Prealloc::Kind::group : Prealloc::Kind::inode;
  pa.block = state_.geometry().block_of(search.best.group, search.best.start);
  pa.len = pa.free = search.best.len;
  state_.enlist(pa);
  if (rules_.result_as_placed) search.taken = search.best;
  if (for_group) {
    pa.owner = request.cpu;
    pa.logical = 0;
    search.best.len = search.orig.len;
  } else {
    pa.owner = request.ino;
    pa.logical = search.best.logical;
    pa.used.assign((pa.len + 63) / 64, 0);
    if (!held.empty()) {
      pa.used = held;
      pa.free = bitmap::count_clear(pa.used, pa.len);
    }
    use(search, pa);
    state::InodePreallocs& mine = state_.inode_preallocs(request.ino);
    mine.list.push_front(pa);
    ++mine.active;
  }
  counters_.preallocated += rules_.counted_whole ? pa.len : pa.free;
  return pa;
}

bool Preallocations::plant(const PlantedPrealloc& planted) {
  const Geometry& geometry = state_.geometry();
  if (planted.len == 0 || !geometry.holds(planted.group, planted.start, planted.len)) return false;
  state_.load(planted.group);
  state::Group& group = state_.group(planted.group);
  if (group.corrupt) return false;
  std::vector<ClusterRange> free;
  std::uint32_t clusters = 0;
  bitmap::for_each_clear_run(state_.words(group), planted.start, planted.start + planted.len,
                             [&](std::uint32_t start, std::uint32_t end) {
                               free.push_back({start, end - start});
                               clusters += end - start;
                             });
  const bool inode = planted.kind == Prealloc::Kind::inode;
  if (clusters == 0 || (!inode && clusters < planted.len)) return false;
  for (const ClusterRange& run : free) state_.take(group, run.first, run.count);
  Prealloc& pa = state_.new_prealloc();
  pa.kind = planted.kind;
  pa.owner = planted.owner;
  pa.block = geometry.block_of(planted.group, planted.start);
  pa.logical = planted.logical;
  pa.len = planted.len;
  pa.free = clusters;
  if (inode) {
    pa.used.assign((pa.len + 63) / 64, 0);
    pa.mark_used(0, pa.len);
    for (const ClusterRange& run : free)
      bitmap::clear_range(pa.used, run.first - planted.start, run.count);
  }
  state_.enlist(pa);
  if (planted.owner == PlantedPrealloc::kNobody) return true;
  if (pa.kind == Prealloc::Kind::group) {
    requeue(nullptr, static_cast<std::uint32_t>(planted.owner), pa);
    return true;
  }
  state::InodePreallocs& mine = state_.inode_preallocs(planted.owner);
  mine.list.push_back(pa);
  ++mine.active;
  return true;
}

void Preallocations::finish(const Request& request, const Search& search, Prealloc& pa) {
  if (pa.kind == Prealloc::Kind::inode) {
    if (pa.in_owner.is_linked() && rules_.kept == PreallocRules::Kept::by_use) {
      state::OwnerPreallocs& list = state_.inode_preallocs(request.ino).list;
      if (&list.front() != &pa) {
        pa.in_owner.unlink();
        list.push_front(pa);
      }
    }
  } else {
    const std::uint64_t blocks = state_.geometry().to_blocks(search.best.len);
    pa.block += blocks;
    pa.free -= std::min(search.best.len, pa.free);
    pa.len -= std::min(search.best.len, pa.len);
    if (pa.free > 0) requeue(&search, request.cpu, pa);
  }
  if (pa.free > 0) return;
  search.tell(&SearchObserver::on_drop, search.best.group);
  state_.drop(pa);
}

void Preallocations::give_back(Prealloc& pa) {
  counters_.buddies_generated += state_.load(state_.geometry().group_of(pa.block));
  counters_.discarded += state_.release(pa);
}

// Puts a group preallocation into the bucket for its number of free clusters. Each bucket is sorted
// by that number, ascending. When a bucket has more than eight preallocations, the smallest ones
// other than `pa` are discarded until five are left (ext4_mb_add_n_trim).
void Preallocations::requeue(const Search* search, std::uint32_t cpu, Prealloc& pa) {
  constexpr std::uint32_t kMost = 8;
  constexpr std::uint32_t kKeep = 5;
  pa.in_owner.unlink();
  const int order = std::min(fls(pa.free) - 1, static_cast<int>(state::kLocalityBuckets) - 1);
  auto& bucket = state_.locality(cpu).buckets[static_cast<std::size_t>(order)];
  auto count = static_cast<std::uint32_t>(bucket.size()) + 1;
  const auto larger = std::find_if(bucket.begin(), bucket.end(),
                                   [&](const Prealloc& other) { return pa.free < other.free; });
  bucket.insert(larger, pa);
  if (count <= kMost) return;
  std::vector<Prealloc*> going;
  for (Prealloc& other : bucket) {
    if (&other == &pa) continue;
    going.push_back(&other);
    if (--count <= kKeep) break;
  }
  for (auto it = going.rbegin(); it != going.rend(); ++it) {
    if (search != nullptr)
      search->tell(&SearchObserver::on_drop, state_.geometry().group_of((*it)->block));
    give_back(**it);
  }
}

void Preallocations::trim(std::uint64_t ino) {
  if (rules_.kept != PreallocRules::Kept::by_use) return;
  const state::InodePreallocs* mine = state_.find_inode_preallocs(ino);
  if (mine == nullptr) return;
  const std::uint64_t most = tunables_.mb_max_inode_prealloc;
  if (mine->active > most + most / 4 + 1)
    discard_inode(ino, static_cast<std::uint32_t>(mine->active - most));
}

bool Preallocations::discard_for(std::uint32_t needed) {
  std::uint32_t freed = 0;
  for (std::uint32_t group = 0; group < state_.group_count() && freed < needed; ++group)
    freed += discard_group(group);
  return freed > 0;
}

// Discards every preallocation in the group. Returns the number of unused clusters.
std::uint32_t Preallocations::discard_group(std::uint32_t number) {
  state::Group& group = state_.group(number);
  std::uint32_t freed = 0;
  // The kernel pushes preallocations from the front of the list onto a stack, so it releases the
  // last one first.
  while (!group.preallocs.empty()) {
    Prealloc& pa = group.preallocs.back();
    freed += pa.free;
    counters_.discarded += state_.release(pa);
  }
  return freed;
}

// The kernel pushes preallocations onto a stack and releases them from its top. With Kept::by_use,
// the list runs from the most to the least recently used. The kernel pushes the last `needed`
// entries, beginning at the end, so it releases the most recently used of them first. With
// Kept::by_block, it pushes all in order of their file blocks, so it releases the one with the
// highest file block first. With Kept::by_age, it pushes all from the front of the list, so it
// releases the oldest first.
void Preallocations::discard_inode(std::uint64_t ino, std::uint32_t needed) {
  state::InodePreallocs* mine = state_.find_inode_preallocs(ino);
  if (mine == nullptr) return;
  using Kept = PreallocRules::Kept;
  if (rules_.kept == Kept::by_age) mine->list.reverse();
  if (rules_.kept == Kept::by_block)
    mine->list.sort([](const Prealloc& a, const Prealloc& b) { return a.logical > b.logical; });
  const bool all = needed == 0 || rules_.kept != Kept::by_use;
  const std::uint32_t count = all ? mine->active : std::min(needed, mine->active);
  auto at = std::prev(mine->list.end(), static_cast<std::ptrdiff_t>(count));
  while (at != mine->list.end()) give_back(*at++);
}

}  // namespace e4r::allocator
