// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// Internal to src/lazyinit: the primary superblock and what follows from it.
#include <cstdint>

#include "ext4/geometry.h"
#include "image/superblock.h"
#include "lazyinit/target.h"
#include "util/status.h"

namespace e4r::lazyinit {

// The superblock in its form on disk, to be changed and written back, and sizes worked out of it.
// (What can be read of one without ext2fs.h is image::SuperblockInfo.)
class Superblock : public Geometry {
 public:
  // Refuses what image::check_superblock() refuses: a wrong checksum, and counts that contradict
  // each other or the size of the target.
  [[nodiscard]] static Result<Superblock> read(Target& target);
  // Writes the 1,024 bytes, with their checksum under metadata_csum.
  [[nodiscard]] Status write(Target& target);

  // Features of which writing needs to know more than is known here: none, or an Error.
  [[nodiscard]] Status known_features(const std::string& path) const;
  // Cleanly unmounted, no errors on record, no journal to replay: or an Error.
  [[nodiscard]] Status at_rest(const std::string& path) const;

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
  // Where the primary copy of the descriptor block lies: behind the superblock, or with meta_bg
  // in the first group of those that it describes.
  [[nodiscard]] std::uint64_t descriptor_block(std::uint32_t index) const;
  // The checksum that bg_checksum is to hold for these `desc_size` bytes; 0 without the features.
  // (ext4_group_desc_csum, Linux 6.1 super.c.)
  [[nodiscard]] std::uint16_t descriptor_checksum(std::uint32_t group,
                                                  std::span<const std::byte> descriptor) const;

  // Whether `bitmap`, a group's inode bitmap without its padding, has the checksum that its
  // descriptor holds (ext4_inode_bitmap_csum_verify, Linux 6.1 bitmap.c). True without
  // metadata_csum.
  [[nodiscard]] bool inode_bitmap_checksum_ok(std::span<const std::byte> bitmap,
                                              std::uint32_t stored) const;

  // Whether an inode of this number has the checksum that it holds (ext4_inode_csum_verify, Linux
  // 6.1 inode.c). True without metadata_csum.
  [[nodiscard]] bool inode_checksum_ok(std::uint32_t number,
                                       std::span<const std::byte> inode) const;
  // Whether e2fsck takes the bytes for an inode that is not in use, and has nothing to say of them:
  // no links, and a time of deletion or nothing but a checksum, which is right. (e2fsck_pass1,
  // 1.47.0: a time below s_inodes_count is a link of the orphan list, unless the file system's own
  // times are as low.)
  [[nodiscard]] bool is_deleted_inode(std::uint32_t number, std::span<const std::byte> inode) const;

  ext2_super_block raw = {};
  std::uint32_t inode_size = 0;
  std::uint32_t desc_size = 0;        // bytes of a descriptor
  std::uint32_t descs_per_block = 0;  // descriptors in a block
  std::uint32_t desc_blocks = 0;      // of one copy of all descriptors
  std::uint32_t itable_blocks = 0;    // per group

 private:
  void derive();

  std::uint32_t checksum_seed_ = 0;
};

}  // namespace e4r::lazyinit
