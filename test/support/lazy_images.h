// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "support/shapes.h"

namespace e4r::test {

// Returns shapes(), and more shapes that test inode tables: several inode sizes, few inodes per
// group. Their options include lazy_itable_init=1,nodiscard, so mke2fs writes only the tables that
// it must write.
[[nodiscard]] const std::vector<Shape>& lazy_shapes();
// Returns the shape of that name. Throws if no shape has this name.
[[nodiscard]] const Shape& lazy_shape(const std::string& name);

// Makes the image with 24 files of `file_bytes` bytes and some directories, then deletes some
// files.
void make_lazy_image(const std::string& path, const Shape& shape, std::size_t file_bytes = 9000);

// A group as libext2fs reports it (ext2fs_bg_*). Offsets are in bytes.
struct ReferenceGroup {
  std::uint64_t table = 0, table_length = 0;
  std::uint32_t flags = 0;
  std::uint32_t unused = 0;
  std::uint32_t free_inodes = 0;
  bool checksum_ok = false;
  std::uint64_t used_bytes = 0;  // bytes of the inodes that the group does not count as unused
  std::uint64_t used_part = 0;   // bytes of the blocks that contain such inodes
  std::uint32_t last_used = 0;   // highest inode in use according to the bitmap, from 1; 0 if none
};
[[nodiscard]] std::vector<ReferenceGroup> reference_groups(const std::string& path);

// A byte range [offset, end): all primary descriptor blocks, or the superblock.
struct Bytes64 {
  std::uint64_t offset = 0, end = 0;
};
[[nodiscard]] std::vector<Bytes64> reference_descriptor_blocks(const std::string& path);

// A block with copies of descriptors.
struct DescriptorCopy {
  Bytes64 bytes;
  std::uint32_t first_group = 0;     // the group whose descriptor comes first
  std::vector<std::uint32_t> flags;  // flags of that group and the following ones
};
[[nodiscard]] std::vector<DescriptorCopy> reference_descriptor_copies(const std::string& path);

// A test can fill inode tables with old data, as on a disk that was used before. FillFrom
// determines where the data begins in a table: at the first unused inode, or at the first block
// without used inodes. FillWith determines its contents: inodes of empty regular files with one
// link, or random bytes with a fixed seed.
enum class FillFrom : std::uint8_t { first_unused_inode, first_unused_block };
enum class FillWith : std::uint8_t { inodes, random };
void fill_unused(const std::string& path, FillFrom from, FillWith with = FillWith::inodes);
// Returns the groups whose inode table has nonzero bytes in its unused blocks.
[[nodiscard]] std::vector<std::uint32_t> groups_not_zero(const std::string& path);

// Copies a sparse file and keeps it sparse.
void copy_sparse(const std::string& from, const std::string& to);
// Returns a hash of the contents. Holes count as zeros and are not read.
[[nodiscard]] std::uint64_t fingerprint(const std::string& path);
// Returns the offsets of the 1 KiB blocks that differ between two files of the same size.
[[nodiscard]] std::vector<std::uint64_t> changed_blocks(const std::string& a, const std::string& b);

// The exit status and output of e2fsck -fn, without the line with its version.
struct Fsck {
  int status = -1;
  std::string text;
};
[[nodiscard]] Fsck fsck(const std::string& path);

}  // namespace e4r::test
