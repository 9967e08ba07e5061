// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// Internal to src/lazyinit: the primary superblock and values derived from it.
#include <cstdint>
#include <vector>

#include "ext4/geometry.h"
#include "image/superblock.h"
#include "lazyinit/target.h"
#include "util/status.h"

namespace e4r::lazyinit {

// The superblock and sizes derived from it. Its fields are in this machine's byte order, and they
// can be changed and written back. (image::SuperblockInfo is for code that does not include
// ext2fs.h.)
class Superblock : public Geometry {
 public:
  // Refuses what image::check_superblock() refuses: a wrong checksum, and counts that contradict
  // each other or the size of the target.
  [[nodiscard]] static Result<Superblock> read(Target& target);
  // Writes the 1,024 bytes; with metadata_csum, includes their checksum.
  [[nodiscard]] Status write(Target& target) const;

  // Refuses features that make writing unsafe, because this program does not know them.
  [[nodiscard]] Status check_features(const std::string& path) const;
  // Refuses a file system that was not cleanly unmounted, has recorded errors, or has a journal to
  // replay.
  [[nodiscard]] Status check_at_rest(const std::string& path) const;

  [[nodiscard]] bool has_ro_compat(std::uint32_t bit) const {
    return (raw.s_feature_ro_compat & bit) != 0;
  }
  [[nodiscard]] bool has_incompat(std::uint32_t bit) const {
    return (raw.s_feature_incompat & bit) != 0;
  }
  [[nodiscard]] bool metadata_csum() const {
    return has_ro_compat(EXT4_FEATURE_RO_COMPAT_METADATA_CSUM);
  }
  [[nodiscard]] bool group_checksums() const {
    return metadata_csum() || has_ro_compat(EXT4_FEATURE_RO_COMPAT_GDT_CSUM);
  }
  // Whether the group has a copy of the superblock (sparse_super, sparse_super2).
  [[nodiscard]] bool has_copy(std::uint32_t group) const;
  // The primary place of a descriptor block: after the superblock, or with meta_bg in the first
  // group that the block describes.
  [[nodiscard]] std::uint64_t descriptor_block(std::uint32_t index) const;
  // The number of descriptor blocks that follow each copy of the superblock. The other descriptor
  // blocks are placed by meta_bg.
  [[nodiscard]] std::uint32_t descriptors_in_a_row() const;
  // The first block of each copy of these blocks.
  [[nodiscard]] std::vector<std::uint64_t> copies_of_first_descriptor_block() const;
  // The copies of a descriptor block placed by meta_bg. The block describes a run of groups. The
  // second and the last group of the run have a copy.
  [[nodiscard]] std::vector<std::uint64_t> copies_with_meta_bg(std::uint32_t index) const;
  // The bg_checksum for these `desc_size` bytes; 0 without the features (ext4_group_desc_csum,
  // Linux 6.1 super.c).
  [[nodiscard]] std::uint16_t descriptor_checksum(std::uint32_t group,
                                                  std::span<const std::byte> descriptor) const;

  // Whether `bitmap`, a group's inode bitmap without its padding, has the checksum in its
  // descriptor (ext4_inode_bitmap_csum_verify, Linux 6.1 bitmap.c). True without metadata_csum.
  [[nodiscard]] bool inode_bitmap_checksum_ok(std::span<const std::byte> bitmap,
                                              std::uint32_t stored) const;

  // Whether inode number `number` has the right checksum (ext4_inode_csum_verify, Linux 6.1
  // inode.c). True without metadata_csum.
  [[nodiscard]] bool inode_checksum_ok(std::uint32_t number,
                                       std::span<const std::byte> inode) const;
  // Whether e2fsck accepts the bytes as an unused inode without complaint: it has no links, a
  // correct checksum, and either a deletion time or nothing else. e2fsck takes a deletion time
  // below s_inodes_count for a link of the orphan list, unless the file system's own times are that
  // low, too (e2fsck_pass1, 1.47.0).
  [[nodiscard]] bool is_deleted_inode(std::uint32_t number, std::span<const std::byte> inode) const;

  ext2_super_block raw = {};
  std::uint32_t inode_size = 0;
  std::uint32_t desc_size = 0;        // bytes in a descriptor
  std::uint32_t descs_per_block = 0;  // descriptors in a block
  std::uint32_t desc_blocks = 0;      // blocks in one copy of all descriptors
  std::uint32_t itable_blocks = 0;    // blocks in a group's table

 private:
  void derive();

  std::uint32_t checksum_seed_ = 0;
};

}  // namespace e4r::lazyinit
