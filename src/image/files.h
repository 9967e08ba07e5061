// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "image/ext2_handle.h"
#include "image/image.h"

namespace e4r::image {

// The following two functions implement Image::inode() and Image::file_extents(). No other thread
// may use the handle during the call. Errors do not name the image.
[[nodiscard]] Result<InodeInfo> read_inode(ext2_filsys fs, std::uint32_t ino);
[[nodiscard]] Result<std::vector<MappedExtent>> read_extents(ext2_filsys fs, std::uint32_t ino,
                                                             std::size_t limit);

// The locations of each group's own metadata, computed from the superblock and the descriptors.
class Layout {
 public:
  // `superblock` and `groups` must outlive the Layout.
  Layout(const SuperblockInfo& superblock, std::span<const GroupInfo> groups, ext2_filsys fs)
      : geo_(superblock), groups_(groups), fs_(fs) {}

  // The number of blocks at the start of the group that hold a superblock copy, group descriptors
  // and reserved descriptor blocks.
  [[nodiscard]] std::uint64_t base_blocks(GroupNumber group) const;

  // Fills `words` with the bitmap of a group whose bitmap was never written. It marks as in use:
  // the base blocks, the group's bitmaps and inode table where they lie inside the group, and all
  // bits past the group's end.
  void init_bitmap(GroupNumber group, std::span<std::uint64_t> words) const;

  // Whether the group's own bitmaps and inode table are in use in `words`. Without flex_bg, the
  // kernel rejects a bitmap in which one of them is free. With flex_bg, they may lie anywhere, and
  // the kernel does not check.
  [[nodiscard]] bool metadata_in_use(GroupNumber group, std::span<const std::uint64_t> words) const;

  // See Image::metadata().
  [[nodiscard]] std::vector<BlockRange> ranges() const;
  // See Image::bookkeeping().
  [[nodiscard]] std::vector<BlockRange> bookkeeping() const;

 private:
  [[nodiscard]] bool has_descriptor_copy_of_meta_bg(GroupNumber group) const;
  void collect(GroupNumber group, std::vector<BlockRange>& out) const;

  const SuperblockInfo& geo_;
  std::span<const GroupInfo> groups_;
  ext2_filsys fs_;
};

// The clusters of the group that overlap `blocks`, counted from the group's first cluster. The
// count is 0 if there is no overlap.
[[nodiscard]] ClusterRange clusters_in_group(const Geometry& geometry, GroupNumber group,
                                             const BlockRange& blocks);

// Sets the bits [first, first + count), which must be inside `words`. Returns how many were clear.
std::uint64_t set_bits(std::span<std::uint64_t> words, std::uint64_t first, std::uint64_t count);
// Whether the bits [first, first + count) are all set.
[[nodiscard]] bool all_set(std::span<const std::uint64_t> words, std::uint64_t first,
                           std::uint64_t count);

// Implements Image::paths(). No other thread may use the handle during the call.
[[nodiscard]] FoundPaths find_paths(ext2_filsys fs, const std::set<std::uint64_t>& wanted);

}  // namespace e4r::image
