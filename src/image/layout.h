// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "image/ext2_handle.h"
#include "image/fs_info.h"

namespace e4r::image {

// Where the format puts a group's own metadata, from superblock and descriptors alone.
class Layout {
 public:
  // Both must outlive the Layout.
  Layout(const SuperblockInfo& superblock, std::span<const GroupInfo> groups, ext2_filsys fs)
      : geo_(superblock), groups_(groups), fs_(fs) {}

  // Blocks at the start of the group that hold a superblock copy, group descriptors and blocks
  // reserved for more of them.
  [[nodiscard]] std::uint64_t base_blocks(GroupNumber group) const;

  // Fills `words` with the bitmap of a group that has never been written to: base blocks and
  // those of its bitmaps and inode table that lie in it are in use, as is all past its end.
  void init_bitmap(GroupNumber group, std::span<std::uint64_t> words) const;

  // Whether `words` has the group's own bitmaps and inode table in use. Without flex_bg the
  // kernel refuses a bitmap that has not; with it they may lie anywhere and nobody asks.
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

// Clusters of the group that the part of `blocks` inside it touches, counted from its first; count
// 0 when none does.
[[nodiscard]] ClusterRange clusters_in_group(const Geometry& geometry, GroupNumber group,
                                             const BlockRange& blocks);

// Sets bits [first, first + count); the caller has checked that they are there. Returns how many
// were clear.
std::uint64_t set_bits(std::span<std::uint64_t> words, std::uint64_t first, std::uint64_t count);
// Whether all of them are set.
[[nodiscard]] bool all_set(std::span<const std::uint64_t> words, std::uint64_t first,
                           std::uint64_t count);

}  // namespace e4r::image
