// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ext4/geometry.h"

namespace e4r::image {

// Feature bits that decide something for an allocator or a checker.
struct Features {
  bool extents = false;
  bool bigalloc = false;
  bool is64bit = false;
  bool flex_bg = false;
  bool meta_bg = false;
  bool uninit_bg = false;      // gdt_csum: crc16 over each descriptor
  bool metadata_csum = false;  // crc32c over everything, implies checksummed descriptors
  bool sparse_super = false;
  bool sparse_super2 = false;
  bool has_journal = false;
  bool resize_inode = false;
  bool inline_data = false;
  // BLOCK_UNINIT and INODE_UNINIT mean something only then.
  [[nodiscard]] bool group_checksums() const { return uninit_bg || metadata_csum; }
};

// What the superblock says, checked for consistency: counts agree with each other and with the
// size of the file, shifts are in range, nothing divides by zero.
struct SuperblockInfo : Geometry {
  std::uint64_t clusters_count = 0;  // clusters of all groups together
  std::uint32_t inodes_count = 0;
  std::uint32_t inode_size = 0;
  std::uint32_t itable_blocks_per_group = 0;
  std::uint32_t desc_size = 0;  // bytes of a group descriptor on disk
  std::uint32_t desc_blocks = 0;
  std::uint32_t reserved_gdt_blocks = 0;
  std::uint32_t first_meta_bg = 0;      // in descriptor blocks; counts with meta_bg only
  std::uint64_t free_blocks_count = 0;  // of the superblock, in blocks; not the sum of the groups
  std::uint64_t reserved_blocks = 0;    // for root
  std::uint32_t stride = 0;             // RAID stride and stripe width in blocks, 0: not set
  std::uint32_t stripe_width = 0;
  std::uint32_t first_inode = 0;  // first inode number that is not reserved
  Features features = {};
  bool needs_recovery = false;           // the journal holds transactions that nobody has replayed
  bool clean = true;                     // unmounted cleanly
  bool errors = false;                   // the kernel has recorded errors
  std::uint32_t default_mount_opts = 0;  // bits as in EXT4_DEFM_*
  std::string mount_opts = {};           // extra mount options kept in the superblock
  std::string label = {};
  std::string uuid = {};  // 8-4-4-4-12 lower-case hex
};

// Why no allocation may happen in a group. The kernel sets the group aside for each of these (or
// does not mount the file system at all), so every block of such a group counts as in use.
enum class GroupFault : std::uint8_t {
  none,
  descriptor_range,     // bitmap or inode table location outside of the file system
  descriptor_checksum,  // stored checksum of the descriptor is wrong
  group_zero_uninit,    // group 0 says BLOCK_UNINIT, which it cannot be
  bitmap_read,          // the block that holds the bitmap cannot be read
  bitmap_checksum,      // stored checksum of the bitmap is wrong
  bitmap_metadata,      // without flex_bg: the bitmap calls the group's own metadata free
  bitmap_padding,       // bits past the end of the group are not set
};

// "block bitmap checksum is wrong", for the end of a sentence about the group.
[[nodiscard]] std::string_view describe(GroupFault fault);

// One group descriptor. Counts are the stored ones, not recounted from the bitmaps.
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
  bool block_uninit = false;  // the flags count only with group checksums, and read as false
  bool inode_uninit = false;  // without them
  bool itable_zeroed = false;
  // Clusters of metadata, any group's, that its bitmap calls free. Known once bitmaps are loaded.
  std::uint32_t free_metadata = 0;
  GroupFault fault = GroupFault::none;
  [[nodiscard]] bool bad() const { return fault != GroupFault::none; }
  // Whether what the descriptor says of places is to be believed.
  [[nodiscard]] bool has_places() const {
    return fault != GroupFault::descriptor_range && fault != GroupFault::descriptor_checksum;
  }
};

}  // namespace e4r::image
