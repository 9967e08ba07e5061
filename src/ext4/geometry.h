// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <cstdint>

// Positions on a device and in files, for every layer: numbers, ranges and extents. A range has a
// first element and a count; an extent has a start and a length, as in ext4. docs/design-model.md
// says why numbers are plain integers. A range or an extent may have any position and size;
// Geometry checks whether it exists on a device.
namespace e4r {

// A device block, counted in file-system blocks from the start of the device.
using Block = std::uint64_t;
// The number of blocks that a file can have: ext4_lblk_t has 32 bits.
inline constexpr std::uint64_t kMaxFileBlocks = std::uint64_t{1} << 32;
// A block group (ext4_group_t).
using GroupNumber = std::uint32_t;

// Blocks [first, first + count) of the device.
struct BlockRange {
  Block first = 0;
  std::uint64_t count = 0;
  [[nodiscard]] Block end() const { return first + count; }
  friend bool operator==(const BlockRange&, const BlockRange&) = default;
};

// Clusters [first, first + count) of one group, counted from the group's start.
struct ClusterRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  [[nodiscard]] std::uint32_t end() const { return first + count; }
  friend bool operator==(const ClusterRange&, const ClusterRange&) = default;
};

// A run of clusters in one group and its first file block (struct ext4_free_extent). Extents read
// from a trace are of type trace::RecordedExtent, which may hold any numbers.
struct Extent {
  GroupNumber group = 0;
  std::uint32_t start = 0;    // cluster in the group
  std::uint32_t len = 0;      // clusters
  std::uint32_t logical = 0;  // file block
  friend bool operator==(const Extent&, const Extent&) = default;
};

// Whether both cover the same clusters. File blocks are ignored.
[[nodiscard]] inline bool same_clusters(const Extent& a, const Extent& b) {
  return a.group == b.group && a.start == b.start && a.len == b.len;
}

// Maps file blocks [logical, logical + len) to device blocks [block, block + len).
struct FileExtent {
  std::uint64_t logical = 0;
  Block block = 0;
  std::uint64_t len = 0;
  [[nodiscard]] std::uint64_t end() const { return logical + len; }
  [[nodiscard]] Block block_end() const { return block + len; }
  // Whether `next` continues this extent both in the file and on the device.
  [[nodiscard]] bool is_continued_by(const FileExtent& next) const {
    return end() == next.logical && block_end() == next.block;
  }
  friend bool operator==(const FileExtent&, const FileExtent&) = default;
};

// The layout of a file system: how its blocks form clusters and groups. All layers use it. It is
// the base of three types that add to it: image::SuperblockInfo (the rest of the superblock),
// state::MountedGeometry (the features and mount options that affect allocation) and
// lazyinit::Superblock (the superblock's bytes, to be changed and written back). Blocks are
// file-system blocks; clusters are allocation units of 2^cluster_bits blocks. Without bigalloc, a
// cluster is one block.
struct Geometry {
  std::uint64_t blocks_count = 0;      // blocks on the device, including those before group 0
  std::uint32_t first_data_block = 0;  // the first block of group 0: 1 with 1 KiB blocks, else 0
  std::uint32_t blocks_per_group = 0;
  std::uint32_t clusters_per_group = 0;  // a multiple of 8
  std::uint32_t groups = 0;
  std::uint32_t inodes_per_group = 0;
  std::uint32_t block_bits = 12;          // log2 of the block size in bytes
  std::uint32_t cluster_bits = 0;         // log2 of blocks per cluster
  std::uint32_t log_groups_per_flex = 0;  // 0 without flex_bg
  bool flex_bg = false;

  [[nodiscard]] std::uint32_t block_size() const { return 1u << block_bits; }  // bytes
  [[nodiscard]] std::uint32_t flex_size() const { return 1u << log_groups_per_flex; }
  // The number of buddy orders, which are 0 to orders() - 1 (MB_NUM_ORDERS).
  [[nodiscard]] std::uint32_t orders() const { return block_bits + 2; }
  // The number of 64-bit words that hold one group's bitmap.
  [[nodiscard]] std::uint32_t words_per_group() const { return (clusters_per_group + 63) / 64; }

  [[nodiscard]] Block first_block(GroupNumber group) const {
    return Block{group} * blocks_per_group + first_data_block;
  }
  // Whether `block` lies in a group, as group_of() and cluster_in_group() require.
  [[nodiscard]] bool holds_block(Block block) const {
    return block >= first_data_block && block < blocks_count;
  }
  [[nodiscard]] GroupNumber group_of(Block block) const {
    return static_cast<GroupNumber>((block - first_data_block) / blocks_per_group);
  }
  [[nodiscard]] std::uint32_t cluster_in_group(Block block) const {
    return static_cast<std::uint32_t>((block - first_data_block) % blocks_per_group >>
                                      cluster_bits);
  }
  // Whether `block` lies in that cluster of that group. Needs no division.
  [[nodiscard]] bool lies_at(Block block, GroupNumber group, std::uint32_t cluster) const {
    const Block offset = block - first_block(group);
    return offset < blocks_per_group && offset >> cluster_bits == cluster;
  }
  [[nodiscard]] Block block_of(GroupNumber group, std::uint32_t cluster) const {
    return first_block(group) + to_blocks(cluster);
  }

  // The number of blocks, and of clusters, that exist in `group`. The last group may be short.
  [[nodiscard]] std::uint32_t blocks_in(GroupNumber group) const {
    const std::uint64_t left = blocks_count - first_block(group);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(left, blocks_per_group));
  }
  [[nodiscard]] std::uint32_t clusters_in(GroupNumber group) const {
    return static_cast<std::uint32_t>(to_clusters(blocks_in(group)));
  }
  // The leading part of a block range, up to the end of its first group.
  [[nodiscard]] BlockRange front_in_group(const BlockRange& range) const {
    const Block end = first_block(group_of(range.first)) + blocks_per_group;
    return {range.first, std::min(range.count, end - range.first)};
  }
  // Whether `group` exists and has all clusters of [start, start + len), and len is at least 1.
  [[nodiscard]] bool holds(GroupNumber group, std::int64_t start, std::uint64_t len) const {
    if (group >= groups || start < 0 || len == 0) return false;
    const std::uint64_t clusters = clusters_in(group);
    return len <= clusters && static_cast<std::uint64_t>(start) <= clusters - len;
  }

  // The clusters that `blocks` blocks need (rounded up), and the blocks in `clusters` clusters.
  [[nodiscard]] std::uint64_t to_clusters(std::uint64_t blocks) const {
    return (blocks + (1ull << cluster_bits) - 1) >> cluster_bits;
  }
  [[nodiscard]] std::uint64_t to_blocks(std::uint64_t clusters) const {
    return clusters << cluster_bits;
  }
  // Rounds a number of blocks up to whole clusters.
  [[nodiscard]] std::uint64_t whole_clusters_from(std::uint64_t blocks) const {
    return to_blocks(to_clusters(blocks));
  }
  [[nodiscard]] std::uint64_t whole_clusters_below(std::uint64_t blocks) const {
    return to_blocks(blocks >> cluster_bits);
  }
  // The blocks of a file of `bytes` bytes (rounded up).
  [[nodiscard]] std::uint64_t blocks_of_bytes(std::uint64_t bytes) const {
    return (bytes + (1ull << block_bits) - 1) >> block_bits;
  }
};

// One past the last file block that `extent` covers. It may need more than 32 bits.
[[nodiscard]] inline std::uint64_t logical_end(const Geometry& geometry, const Extent& extent) {
  return extent.logical + geometry.to_blocks(extent.len);
}

// The position of the highest set bit, counted from 1; 0 for 0 (like the kernel's fls()). Used to
// compute the orders of buddy chunks.
[[nodiscard]] constexpr int fls(std::uint32_t n) {
  return n == 0 ? 0 : 32 - __builtin_clz(n);
}

}  // namespace e4r
