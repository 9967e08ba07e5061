// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <cstdint>

#include "ext4/blocks.h"

namespace e4r {

// The shape of a file system: how its blocks lie in groups and clusters. All layers use it. It is
// the base of types that know more of a file system: image::SuperblockInfo (all that the superblock
// says), state::MountedGeometry (what decides for the allocator of a mounted file system) and
// lazyinit::Superblock (the superblock's bytes, to be changed and written back).
// Blocks are file-system blocks; clusters are allocation units of 2^cluster_bits blocks, equal to
// blocks without bigalloc.
struct Geometry {
  std::uint64_t blocks_count = 0;      // blocks of the device, including those before group 0
  std::uint32_t first_data_block = 0;  // where group 0 starts: 1 with 1 KiB blocks, else 0
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
  // Buddy orders 0 .. orders()-1 (MB_NUM_ORDERS).
  [[nodiscard]] std::uint32_t orders() const { return block_bits + 2; }
  // 64-bit words that hold one group's bitmap.
  [[nodiscard]] std::uint32_t words_per_group() const { return (clusters_per_group + 63) / 64; }

  [[nodiscard]] Block first_block(GroupNumber group) const {
    return Block{group} * blocks_per_group + first_data_block;
  }
  // Whether `block` lies in a group; then also the group and the cluster.
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
  // The front of a range of blocks up to the end of its first group.
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
  // The blocks of a file of `bytes` bytes (rounded up).
  [[nodiscard]] std::uint64_t blocks_of_bytes(std::uint64_t bytes) const {
    return (bytes + (1ull << block_bits) - 1) >> block_bits;
  }
};

// One past the last file block that `extent` covers, in 64 bits.
[[nodiscard]] inline std::uint64_t logical_end(const Geometry& geometry, const Extent& extent) {
  return extent.logical + geometry.to_blocks(extent.len);
}

// Position of the highest set bit, counted from 1; 0 for 0 (the kernel's fls). Orders of buddy
// chunks are computed with it.
[[nodiscard]] constexpr int fls(std::uint32_t n) {
  return n == 0 ? 0 : 32 - __builtin_clz(n);
}

}  // namespace e4r
