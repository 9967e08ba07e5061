// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/event.h"

namespace e4r::trace {
namespace {

constexpr std::array<std::string_view, kEventKinds> kEventNames = {
    "ext4_request_blocks",
    "ext4_allocate_blocks",
    "ext4_mballoc_alloc",
    "ext4_mballoc_prealloc",
    "ext4_mb_new_inode_pa",
    "ext4_mb_new_group_pa",
    "ext4_mb_release_inode_pa",
    "ext4_mb_release_group_pa",
    "ext4_discard_preallocations",
    "ext4_mb_discard_preallocations",
    "ext4_free_blocks",
    "ext4_mballoc_free",
    "ext4_mballoc_discard",
    "ext4_mb_buddy_bitmap_load",
    "ext4_mb_bitmap_load",
    "ext4_allocate_inode",
    "ext4_free_inode",
    "jbd2_commit_flushing",
    "jbd2_end_commit",
    "ext4_prefetch_bitmaps",
    "ext4_es_insert_extent",
    "ext4_es_cache_extent",
    "ext4_es_insert_delayed_block",
    "ext4_es_remove_extent",
    "ext4_es_lookup_extent_enter",
    "ext4_es_lookup_extent_exit",
    "ext4_es_shrink_scan_enter",
    "ext4_es_shrink_scan_exit",
    "ext4_es_shrink",
    "lost_events",
};

constexpr std::array<std::string_view, 4> kGenerationNames = {"unknown", "6.1", "6.1 with CR1.5",
                                                              "6.5 or later"};

}  // namespace

std::string_view event_name(EventKind kind) {
  return kEventNames[static_cast<std::size_t>(kind)];
}

std::string_view event_system(EventKind kind) {
  const std::string_view name = event_name(kind);
  return name.substr(0, name.find('_'));
}

std::string_view generation_name(Generation generation) {
  return kGenerationNames[static_cast<std::size_t>(generation)];
}

}  // namespace e4r::trace
