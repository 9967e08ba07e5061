// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/wanted.h"

namespace e4r::trace {
namespace {

using enum EventKind;

constexpr auto kAllocator = std::to_array<WantedEvent>({
    {request_blocks, true},
    {allocate_blocks, true},
    {mballoc_alloc, true},
    {mballoc_prealloc, true},
    {new_inode_pa, true},
    {new_group_pa, true},
    {release_inode_pa, false},
    {release_group_pa, false},
    {discard_preallocations, false},
    {mb_discard_preallocations, false},
    {free_blocks, true},
    {mballoc_free, true},
    {buddy_bitmap_load, true},
    {prefetch_bitmaps, false},
    {allocate_inode, true},
    {free_inode, false},
    {commit_flushing, true},
    {end_commit, true},
});

constexpr auto kShrinker = std::to_array<WantedEvent>({
    {es_insert_extent, true},
    {es_cache_extent, true},
    {es_insert_delayed_block, false},  // gone in Linux 6.12
    {es_remove_extent, true},
    {es_lookup_enter, true},
    {es_lookup_exit, true},
    {es_shrink_scan_enter, true},
    {es_shrink_scan_exit, true},
    {es_shrink, true},
});

}  // namespace

std::span<const WantedEvent> wanted_events(Purpose purpose) {
  if (purpose == Purpose::shrinker) return kShrinker;
  return kAllocator;
}

}  // namespace e4r::trace
