// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "support/shapes.h"

namespace e4r::test {

// shapes() and some more, with what matters to inode tables: inode sizes, few inodes in a group.
// All as mke2fs leaves them with lazy_itable_init=1,nodiscard: no table is written that needs not
// be.
[[nodiscard]] const std::vector<Shape>& lazy_shapes();
// A name's shape; throws when there is none.
[[nodiscard]] const Shape& lazy_shape(const std::string& name);

// Makes the image and puts some files and directories into it, with deleted ones among them; 24
// files of so many bytes.
void make_lazy_image(const std::string& path, const Shape& shape, std::size_t file_bytes = 9000);

// A group as libext2fs has it (ext2fs_bg_*), offsets in bytes.
struct ReferenceGroup {
  std::uint64_t table = 0, table_length = 0;
  std::uint32_t flags = 0;
  std::uint32_t unused = 0;
  std::uint32_t free_inodes = 0;
  bool checksum_ok = false;
  std::uint64_t used_bytes = 0;  // of inodes that are not counted as unused
  std::uint64_t used_part = 0;   // bytes of whole blocks with inodes that are not counted as unused
  std::uint32_t last_used = 0;   // highest inode set in the bitmap, 1 for the first; 0: none
};
[[nodiscard]] std::vector<ReferenceGroup> reference_groups(const std::string& path);

// Bytes of all primary descriptor blocks and of the superblock, as [offset, end).
struct Bytes64 {
  std::uint64_t offset = 0, end = 0;
};
[[nodiscard]] std::vector<Bytes64> reference_descriptor_blocks(const std::string& path);

// Fills the tables with what a disk may hold from before, from the first unused inode on or from
// the first block without a used one: inodes of empty regular files with one link, or bytes drawn
// at random (always the same ones).
enum class FillFrom : std::uint8_t { first_unused_inode, first_unused_block };
enum class FillWith : std::uint8_t { inodes, random };
void fill_unused(const std::string& path, FillFrom from, FillWith with = FillWith::inodes);
// Groups whose table is not zero from the first unused block on.
[[nodiscard]] std::vector<std::uint32_t> groups_not_zero(const std::string& path);

// Copies a sparse file as what it is.
void copy_sparse(const std::string& from, const std::string& to);
// Of the content, holes being zeros; reads only what is data.
[[nodiscard]] std::uint64_t fingerprint(const std::string& path);
// Offsets of the 1 KiB blocks in which two files of the same size differ.
[[nodiscard]] std::vector<std::uint64_t> changed_blocks(const std::string& a, const std::string& b);

// e2fsck -fn: exit status and what it prints, without the line of its version.
struct Fsck {
  int status = -1;
  std::string text;
};
[[nodiscard]] Fsck fsck(const std::string& path);

}  // namespace e4r::test
