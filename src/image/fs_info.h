// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ext4/geometry.h"

namespace e4r::image {

// Feature bits that matter to an allocator or a checker.
struct Features {
  bool extents = false;
  bool bigalloc = false;
  bool is64bit = false;
  bool flex_bg = false;
  bool meta_bg = false;
  bool uninit_bg = false;      // gdt_csum: a crc16 in each descriptor
  bool metadata_csum = false;  // crc32c over all metadata; implies checksums in descriptors
  bool sparse_super = false;
  bool sparse_super2 = false;
  bool has_journal = false;
  bool resize_inode = false;
  bool inline_data = false;
  // BLOCK_UNINIT and INODE_UNINIT are valid only with these.
  [[nodiscard]] bool group_checksums() const { return uninit_bg || metadata_csum; }
};

// The facts in the superblock, checked for consistency: counts agree with each other and with the
// size of the file, shifts are in range, divisors are not zero.
struct SuperblockInfo : Geometry {
  std::uint64_t clusters_count = 0;  // sum over all groups
  std::uint32_t inodes_count = 0;
  std::uint32_t inode_size = 0;
  std::uint32_t itable_blocks_per_group = 0;
  std::uint32_t desc_size = 0;  // size in bytes of a group descriptor on disk
  std::uint32_t desc_blocks = 0;
  std::uint32_t reserved_gdt_blocks = 0;
  std::uint32_t first_meta_bg = 0;  // in descriptor blocks; used only with meta_bg
  // as in the superblock, in blocks; not the sum of the groups
  std::uint64_t free_blocks_count = 0;
  std::uint64_t reserved_blocks = 0;  // for root
  std::uint32_t stride = 0;           // RAID stride and stripe width in blocks; 0: not set
  std::uint32_t stripe_width = 0;
  std::uint32_t first_inode = 0;  // the first inode number that is not reserved
  Features features = {};
  bool needs_recovery = false;           // the journal has transactions to replay
  bool clean = true;                     // unmounted cleanly
  bool errors = false;                   // the kernel has recorded errors
  std::uint32_t default_mount_opts = 0;  // bits as in EXT4_DEFM_*
  std::string mount_opts = {};           // extra mount options kept in the superblock
  std::string label = {};
  std::string uuid = {};  // 8-4-4-4-12 lower-case hex
};

// Why nothing may be allocated in a group. For each of these faults the kernel sets the group aside
// or does not mount at all, so all blocks of the group count as in use.
enum class GroupFault : std::uint8_t {
  none,
  descriptor_range,     // a bitmap or the inode table lies outside the file system
  descriptor_checksum,  // the descriptor's checksum is wrong
  group_zero_uninit,    // group 0 has BLOCK_UNINIT, which is impossible
  bitmap_read,          // the block of the bitmap cannot be read
  bitmap_checksum,      // the bitmap's checksum is wrong
  bitmap_metadata,      // without flex_bg: the group's own metadata is free in the bitmap
  bitmap_padding,       // bits past the end of the group are not set
};

// The fault as the end of a sentence about the group: "block bitmap checksum is wrong".
[[nodiscard]] std::string_view describe(GroupFault fault);

// A group and its descriptor. The counts are the stored ones, not recounted from the bitmaps.
struct GroupInfo {
  Block first_block = 0;
  Block block_bitmap = 0;
  Block inode_bitmap = 0;
  Block inode_table = 0;
  std::uint32_t blocks = 0;
  std::uint32_t clusters = 0;
  std::uint32_t free_clusters = 0;
  std::uint32_t free_inodes = 0;
  std::uint32_t used_dirs = 0;
  std::uint32_t itable_unused = 0;
  bool block_uninit = false;  // the UNINIT and ZEROED flags read as false
  bool inode_uninit = false;  // without group checksums
  bool itable_zeroed = false;
  // How many clusters of any group's metadata are free in this group's bitmap. Known once the
  // bitmaps are loaded.
  std::uint32_t free_metadata = 0;
  GroupFault fault = GroupFault::none;
  [[nodiscard]] bool bad() const { return fault != GroupFault::none; }
  // Whether the locations in the descriptor are trustworthy.
  [[nodiscard]] bool has_places() const {
    return fault != GroupFault::descriptor_range && fault != GroupFault::descriptor_checksum;
  }
};

}  // namespace e4r::image
