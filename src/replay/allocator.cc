// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/allocator.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "replay/group_search.h"

namespace e4r::replay {

using policy::Search;
using state::Prealloc;
namespace bitmap = state::bitmap;
namespace mb = trace::mb;

namespace {

constexpr std::uint64_t kMaxBlockFilePhys = 0xffffffff;  // of files mapped by indirect blocks
// Flags that the allocator sets itself; a request that has them already is a damaged one.
constexpr std::uint32_t kOwnFlags =
    mb::hint_group_alloc | mb::stream_alloc | mb::cr0_optimized | mb::cr1_optimized;

bool steered(const Steering* steering) {
  return steering != nullptr && steering->recorded != nullptr;
}

// Groups that files without extents may use lie below 2^32 blocks.
std::uint32_t usable_groups(const state::Geometry& geometry) {
  if (geometry.extents) return geometry.groups;
  return std::min<std::uint32_t>(
      geometry.groups, static_cast<std::uint32_t>(kMaxBlockFilePhys / geometry.blocks_per_group));
}

// Where the original request starts: bounded length, goal inside the file system.
void start_search(const state::Geometry& geometry, const Request& request, Search& search) {
  std::uint64_t goal = request.goal;
  if (goal < geometry.first_data_block || goal >= geometry.blocks_count)
    goal = geometry.first_data_block;
  const std::uint32_t cluster_mask = (1u << geometry.cluster_bits) - 1;
  search.orig = {geometry.group_of(goal), geometry.cluster_in_group(goal),
                 std::min(request.len, geometry.clusters_per_group),
                 request.logical & ~cluster_mask};
  search.goal = search.orig;
  search.best.logical = search.orig.logical;
  search.flags = request.flags & ~kOwnFlags;
  search.groups = usable_groups(geometry);
}

// The file range that a shorter find serves: at the goal's end if that still covers the start of
// the request, else at the goal's start if that covers its end, else at the request.
std::uint32_t place_in_goal(const state::Geometry& geometry, const Search& search) {
  const state::Extent whole_goal = {0, 0, search.goal_len, search.goal.logical};
  const std::uint64_t goal_end = state::logical_end(geometry, whole_goal);
  const std::uint64_t size = geometry.to_blocks(search.best.len);
  if (search.orig.logical >= goal_end - size) return static_cast<std::uint32_t>(goal_end - size);
  if (state::logical_end(geometry, search.orig) <= search.goal.logical + size)
    return search.goal.logical;
  return search.orig.logical;
}

}  // namespace

Allocator::Allocator(state::FsState& state, const policy::Policy& policy,
                     const policy::Tunables& tunables)
    : state_(state), policy_(policy), tunables_(tunables) {}

Decision Allocator::allocate(const Request& request, Steering* steering) {
  held_.clear();
  Search search(state_, tunables_, counters_);
  search.observer = observer_;
  start_search(state_.geometry(), request, search);
  choose_mode(request, search, steering);
  Decision out;
  Prealloc* pa = find_prealloc(request, search);
  if (steered(steering)) pa = agreed_prealloc(search, pa, *steering);
  out.prealloc = pa != nullptr || (steered(steering) && steering->recorded->prealloc);
  if (pa != nullptr)
    use_prealloc(search, *pa);
  else if (out.prealloc)
    force(search, *steering);
  else {
    set_goal(request, search, steering);
    search_space(request, search, pa, steering);
  }
  out.success = search.status == Search::Status::found;
  if (out.success) {
    state::Group& group = state_.group(search.best.group);
    state_.clear_block_uninit(group.number);
    group.disk_free -= search.best.len;
    out.block = state_.geometry().block_of(search.best.group, search.best.start);
    out.len = search.best.len;
  } else {
    search.best.len = 0;
  }
  if (pa != nullptr) finish_prealloc(request, search, *pa);
  collect(search);
  trim_inode(request.ino);
  out.orig = search.orig;
  out.goal = search.goal;
  out.goal_len = search.goal_len;
  out.result = out.prealloc ? search.best : search.taken;
  out.found = search.found;
  out.groups_scanned = search.groups_scanned;
  if (!out.prealloc) out.criterion = search.criterion;
  out.flags = search.flags;
  out.tail = search.tail;
  out.broken = search.split_order == 0 ? 0 : 1u << search.split_order;
  return out;
}

// Settles whether the request is served for the file or for the CPU's locality group. A recorded
// preallocation hit that no preallocation of the inode explains was one of the group's.
void Allocator::choose_mode(const Request& request, Search& search, Steering* steering) {
  if ((search.flags & mb::hint_data) == 0 || (search.flags & mb::hint_goal_only) != 0) return;
  Mode mode = request.inputs.mode;
  if (request.inputs_exact) {
    mode = mode_by_size(state_.geometry(), tunables_, search.orig, request);
  } else if (mode == Mode::unknown) {
    if (steered(steering) && steering->recorded->prealloc)
      mode = find_inode_prealloc(request, search) == nullptr ? Mode::group : Mode::unknown;
    else
      mode = mode_by_size(state_.geometry(), tunables_, search.orig, request);
  }
  if (mode == Mode::group && tunables_.mb_group_prealloc == 0) mode = Mode::stream;
  if (mode == Mode::group) search.flags |= mb::hint_group_alloc;
  if (mode == Mode::stream) search.flags |= mb::stream_alloc;
  if (mode == Mode::noprealloc) search.flags |= mb::hint_noprealloc;
  if (steering != nullptr) steering->inputs.mode = mode;
}

// The step that makes of the request the goal that the trace shows; `first` if none does.
SizeStep Allocator::fitted_step(const Request& request, const Search& search,
                                const state::InodePreallocs* preallocs, const Recorded& recorded,
                                SizeStep first) const {
  const auto fits = [&](SizeStep step) {
    const Normalized n = normalize(state_.geometry(), search, request, preallocs, step);
    const bool fits_length = recorded.trimmed && recorded.goal_len == 0
                                 ? n.goal.len > recorded.goal.len
                                 : n.goal.len == std::max(recorded.goal_len, recorded.goal.len);
    return n.consistent && fits_length && n.goal.logical == recorded.goal.logical &&
           n.flags == (recorded.flags & mb::hint_try_goal);
  };
  if (fits(first)) return first;
  for (int step = 0; step < kSizeSteps; ++step)
    if (fits(static_cast<SizeStep>(step))) return static_cast<SizeStep>(step);
  return first;
}

void Allocator::set_goal(const Request& request, Search& search, Steering* steering) {
  search.goal_len = search.goal.len;
  const bool plain = (search.flags & mb::hint_data) == 0 ||
                     (search.flags & (mb::hint_goal_only | mb::hint_noprealloc)) != 0;
  if (plain) return;
  if ((search.flags & mb::hint_group_alloc) != 0) {
    search.goal.len = static_cast<std::uint32_t>(tunables_.mb_group_prealloc);
    search.goal_len = search.goal.len;
    return;
  }
  const state::Geometry& geometry = state_.geometry();
  const state::InodePreallocs* preallocs = state_.find_inode_preallocs(request.ino);
  const std::uint64_t end = state::logical_end(geometry, search.orig) << geometry.block_bits;
  SizeStep step = request.inputs.size;
  if (request.inputs_exact || step == SizeStep::unknown)
    step = size_step(std::max(end, request.size_hint), geometry);
  if (steered(steering) && steering->fit_size && !request.inputs_exact)
    step = fitted_step(request, search, preallocs, *steering->recorded, step);
  const Normalized n = normalize(geometry, search, request, preallocs, step);
  search.goal = n.goal;
  search.goal_len = n.goal.len;
  search.flags |= n.flags;
  if (steering != nullptr) steering->inputs.size = step;
}

// The preallocation that serves the request, or null. Changes nothing.
Prealloc* Allocator::find_prealloc(const Request& request, const Search& search) {
  if ((search.flags & mb::hint_data) == 0) return nullptr;
  if (Prealloc* pa = find_inode_prealloc(request, search)) return pa;
  if ((search.flags & mb::hint_group_alloc) == 0) return nullptr;
  return find_group_prealloc(request, search);
}

Prealloc* Allocator::find_inode_prealloc(const Request& request, const Search& search) {
  const state::Geometry& geometry = state_.geometry();
  state::InodePreallocs* mine = state_.find_inode_preallocs(request.ino);
  if (mine == nullptr) return nullptr;
  for (Prealloc& pa : mine->list) {
    const std::uint64_t end = pa.logical + geometry.to_blocks(pa.len);
    if (search.orig.logical < pa.logical || search.orig.logical >= end || pa.free == 0) continue;
    // Handed out before: only a trace that contradicts itself asks for it again.
    if (bitmap::test(pa.used, (search.orig.logical - pa.logical) >> geometry.cluster_bits))
      continue;
    if (!geometry.extents && pa.block + geometry.to_blocks(pa.len) > kMaxBlockFilePhys) continue;
    return &pa;
  }
  return nullptr;
}

// Of the locality group's preallocations with room enough, the one nearest to the goal.
Prealloc* Allocator::find_group_prealloc(const Request& request, const Search& search) {
  const std::uint64_t goal = state_.geometry().block_of(search.goal.group, search.goal.start);
  const auto distance = [&](const Prealloc& pa) {
    return std::llabs(static_cast<long long>(goal - pa.block));
  };
  const int order = state::fls(search.orig.len) - 1;
  const auto first =
      static_cast<std::uint32_t>(std::min(order, static_cast<int>(state::kLocalityBuckets) - 1));
  Prealloc* nearest = nullptr;
  for (std::uint32_t i = first; i < state::kLocalityBuckets; ++i)
    for (Prealloc& pa : state_.locality(request.cpu).buckets[i])
      if (pa.free >= search.orig.len && (nearest == nullptr || distance(*nearest) > distance(pa)))
        nearest = &pa;
  return nearest;
}

// The clusters of `pa` that serve the request.
state::Extent Allocator::served_from(const Search& search, const Prealloc& pa) const {
  const state::Geometry& geometry = state_.geometry();
  std::uint32_t offset = 0;
  std::uint32_t len = search.orig.len;
  if (pa.kind == Prealloc::Kind::inode) {
    offset = (search.orig.logical - pa.logical) >> geometry.cluster_bits;
    len = bitmap::find_set(pa.used, std::min(pa.len, offset + len), offset) - offset;
  }
  const std::uint64_t start = pa.block + geometry.to_blocks(offset);
  return {geometry.group_of(start), geometry.cluster_in_group(start), len, search.best.logical};
}

// Hands out of `pa` what the request asks for. A group preallocation is cut only when the request
// is finished.
void Allocator::use_prealloc(Search& search, Prealloc& pa) {
  const state::Geometry& geometry = state_.geometry();
  const state::Extent part = served_from(search, pa);
  if (pa.kind == Prealloc::Kind::inode) {
    pa.mark_used((search.orig.logical - pa.logical) >> geometry.cluster_bits, part.len);
    pa.free -= std::min(part.len, pa.free);
  }
  search.best = part;
  search.status = Search::Status::found;
}

// Holds the model's preallocation against the recorded decision: null when the kernel did not use
// one, or another.
Prealloc* Allocator::agreed_prealloc(const Search& search, Prealloc* pa, Steering& steering) const {
  if (pa == nullptr) return nullptr;
  const Recorded& recorded = *steering.recorded;
  const state::Extent part = served_from(search, *pa);
  const state::Extent& want = recorded.result;
  const bool agreed = recorded.prealloc && part.group == want.group && part.start == want.start &&
                      part.len == want.len;
  if (agreed) return pa;
  steering.forced = true;
  steering.own = {true, search.goal, part};
  return nullptr;
}

// Searches, and again after giving back preallocations when there is no space (the retry rules of
// ext4_mb_new_blocks for a single writer).
void Allocator::search_space(const Request& request, Search& search, Prealloc*& pa,
                             Steering* steering) {
  constexpr int kTries = 3;
  for (int tries = 1;; ++tries) {
    GroupSearch(search, policy_, steering).run(stream_group_, stream_start_);
    const bool forced = steered(steering) && steering->forced;
    if (search.status == Search::Status::found || forced || tries >= kTries) break;
    const bool discarded = discard_for(search.orig.len);
    if (search.observer != nullptr) search.observer->retried(discarded);
    if (discarded) continue;
    if ((search.flags & mb::strict_check) != 0) break;
    search.flags |= mb::strict_check;
  }
  if (steered(steering) && search.status != Search::Status::found &&
      steering->recorded->result.len > 0) {
    force(search, *steering);
    search.taken = search.best;
  }
  if (search.status != Search::Status::found) return;
  if ((search.flags & mb::stream_alloc) != 0) {
    stream_group_ = search.taken.group;
    stream_start_ = search.taken.start;
  }
  if (search.orig.len < search.best.len) pa = new_preallocation(request, search);
}

// Which part of the file the clusters found are to serve. False when no preallocation can be made
// of them: a forced result was in use where the request needs it, or in a group preallocation,
// which has no holes.
bool Allocator::place_best(Search& search) const {
  const state::Geometry& geometry = state_.geometry();
  if ((search.flags & mb::hint_group_alloc) != 0) return held_.empty();
  if (search.best.len < search.goal_len) search.best.logical = place_in_goal(geometry, search);
  // A recorded result need not cover the request.
  if (search.orig.logical < search.best.logical ||
      search.orig.logical >= state::logical_end(geometry, search.best))
    search.best.logical = search.orig.logical;
  const std::uint32_t offset = search.orig.logical - search.best.logical;
  return held_.empty() || !bitmap::test(held_, offset >> geometry.cluster_bits);
}

// Keeps what the request does not need as a preallocation, and serves the request from it. Null
// when that cannot be: the request gets what it needs, and the rest is nobody's.
Prealloc* Allocator::new_preallocation(const Request& request, Search& search) {
  const bool for_group = (search.flags & mb::hint_group_alloc) != 0;
  if (!place_best(search)) {
    search.best.len = search.orig.len;
    search.best.logical = search.orig.logical;
    return nullptr;
  }
  Prealloc& pa = state_.new_prealloc();
  pa.kind = for_group ? Prealloc::Kind::group : Prealloc::Kind::inode;
  pa.block = state_.geometry().block_of(search.best.group, search.best.start);
  pa.len = pa.free = search.best.len;
  state_.enlist(pa);
  search.taken = search.best;
  if (for_group) {
    pa.owner = request.cpu;
    pa.logical = 0;
    search.best.len = search.orig.len;
  } else {
    pa.owner = request.ino;
    pa.logical = search.best.logical;
    pa.used.assign((pa.len + 63) / 64, 0);
    if (!held_.empty()) {
      pa.used = held_;
      pa.free = bitmap::count_clear(pa.used, pa.len);
    }
    use_prealloc(search, pa);
    state::InodePreallocs& mine = state_.inode_preallocs(request.ino);
    mine.list.push_front(pa);
    ++mine.active;
  }
  counters_.preallocated += pa.free;
  return &pa;
}

bool Allocator::discard_for(std::uint32_t needed) {
  std::uint32_t freed = 0;
  for (std::uint32_t group = 0; group < state_.group_count() && freed < needed; ++group)
    freed += discard_group(group);
  return freed > 0;
}

// Gives back every preallocation in the group; returns the clusters that were unused.
std::uint32_t Allocator::discard_group(std::uint32_t number) {
  state::Group& group = state_.group(number);
  std::uint32_t freed = 0;
  // Collected from the front onto a stack, so the last one is released first.
  while (!group.preallocs.empty()) {
    Prealloc& pa = group.preallocs.back();
    freed += pa.free;
    counters_.discarded += state_.release(pa);
  }
  return freed;
}

void Allocator::discard_inode(std::uint64_t ino, std::uint32_t needed) {
  state::InodePreallocs* mine = state_.find_inode_preallocs(ino);
  if (mine == nullptr) return;
  // The oldest `needed` ones go; of these the newest first.
  const std::uint32_t count = needed == 0 ? mine->active : std::min(needed, mine->active);
  auto at = std::prev(mine->list.end(), static_cast<std::ptrdiff_t>(count));
  while (at != mine->list.end()) {
    Prealloc& pa = *at++;
    counters_.buddies_generated += state_.load(state_.geometry().group_of(pa.block));
    counters_.discarded += state_.release(pa);
  }
}

// What is left of the preallocation goes to its place in the lists, or away (release_context).
void Allocator::finish_prealloc(const Request& request, Search& search, Prealloc& pa) {
  if (pa.kind == Prealloc::Kind::inode) {
    if (pa.in_owner.is_linked()) {
      state::OwnerPreallocs& list = state_.inode_preallocs(request.ino).list;
      pa.in_owner.unlink();
      list.push_front(pa);
    }
  } else {
    const std::uint64_t blocks = state_.geometry().to_blocks(search.best.len);
    pa.block += blocks;
    pa.free -= std::min(search.best.len, pa.free);
    pa.len -= std::min(search.best.len, pa.len);
    if (pa.free > 0) requeue_group_prealloc(request, pa);
  }
  if (pa.free == 0) state_.drop(pa);
}

// Puts a group preallocation into the bucket of its size, in ascending order; a bucket that grows
// beyond eight gives its smallest back until five are left (ext4_mb_add_n_trim).
void Allocator::requeue_group_prealloc(const Request& request, Prealloc& pa) {
  constexpr std::uint32_t kMost = 8;
  constexpr std::uint32_t kKeep = 5;
  pa.in_owner.unlink();
  const int order =
      std::min(state::fls(pa.free) - 1, static_cast<int>(state::kLocalityBuckets) - 1);
  auto& bucket = state_.locality(request.cpu).buckets[static_cast<std::size_t>(order)];
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
    counters_.buddies_generated += state_.load(state_.geometry().group_of((*it)->block));
    counters_.discarded += state_.release(**it);
  }
}

void Allocator::trim_inode(std::uint64_t ino) {
  const state::InodePreallocs* mine = state_.find_inode_preallocs(ino);
  if (mine == nullptr) return;
  const std::uint64_t most = tunables_.mb_max_inode_prealloc;
  if (mine->active > most + most / 4 + 1)
    discard_inode(ino, static_cast<std::uint32_t>(mine->active - most));
}

void Allocator::collect(const Search& search) {
  if (search.goal.len == 0) return;
  ++counters_.requests;
  counters_.allocated += search.best.len;
  if (search.best.len >= search.orig.len) ++counters_.success;
  counters_.extents_scanned += search.found;
  counters_.groups_scanned += search.groups_scanned;
  if (search.goal.start == search.best.start && search.goal.group == search.best.group)
    ++counters_.goal_hits;
  if (search.taken.len > 0 && search.taken.len == search.goal_len) ++counters_.len_goal_hits;
  if (search.found > tunables_.mb_max_to_scan) ++counters_.breaks;
}

// Puts the recorded result in place of the model's.
void Allocator::force(Search& search, Steering& steering) {
  const state::Extent& want = steering.recorded->result;
  if (!steering.forced) steering.own = {false, search.goal, {}};
  steering.forced = true;
  steering.conflicts += state_.force_take(want.group, want.start, want.len, held_);
  search.best = want;
  search.status = Search::Status::found;
}

void Allocator::mark_read(std::uint32_t first, std::uint32_t next) {
  const std::uint32_t groups = state_.group_count();
  if (first >= groups || next > groups) return;
  std::uint32_t group = first;
  do {
    state_.mark_read(state_.group(group));
    if (++group == groups) group = 0;
  } while (group != next % groups);
}

void Allocator::load_by_others(std::uint32_t group) {
  const std::uint32_t groups = state_.group_count();
  if (group >= groups) return;
  if (state_.group(group).need_init) {
    const std::uint64_t batch = std::max<std::uint64_t>(tunables_.mb_prefetch, 1);
    const std::uint64_t first = group / batch * batch;
    mark_read(static_cast<std::uint32_t>(first),
              static_cast<std::uint32_t>(std::min<std::uint64_t>(first + batch, groups)));
  }
  load_group(group);
}

void Allocator::load_group(std::uint32_t group) {
  if (group >= state_.group_count()) return;
  counters_.buddies_generated += state_.load(group);
}

}  // namespace e4r::replay
