// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <cstdint>

namespace e4r::state {

// What the allocator needs to know of a file system's shape. Blocks are file system blocks;
// clusters are allocation units of 2^cluster_bits blocks (equal to blocks without bigalloc).
struct Geometry {
  std::uint64_t blocks_count = 0;
  std::uint32_t first_data_block = 0;
  std::uint32_t blocks_per_group = 0;
  std::uint32_t clusters_per_group = 0;
  std::uint32_t groups = 0;
  std::uint32_t inodes_per_group = 0;
  std::uint32_t block_bits = 12;          // log2 of the block size in bytes
  std::uint32_t cluster_bits = 0;         // log2 of blocks per cluster
  std::uint32_t log_groups_per_flex = 0;  // 0 when there is no flex_bg
  std::uint32_t stripe = 0;               // blocks; 0 or at least 2 (ext4_get_stripe_size)
  bool flex_bg = false;
  bool desc_csum = false;  // uninit_bg or metadata_csum: BLOCK_UNINIT counts
  bool journal = false;    // freed blocks become usable at commit
  // data=writeback: in spite of the journal, data blocks of regular files are usable at once.
  bool data_writeback = false;
  bool extents = true;  // new inodes map blocks by extents

  // Buddy orders 0 .. orders()-1 (MB_NUM_ORDERS).
  [[nodiscard]] std::uint32_t orders() const { return block_bits + 2; }
  [[nodiscard]] std::uint32_t flex_size() const { return 1u << log_groups_per_flex; }

  [[nodiscard]] std::uint64_t first_block(std::uint32_t group) const {
    return static_cast<std::uint64_t>(group) * blocks_per_group + first_data_block;
  }
  [[nodiscard]] std::uint32_t group_of(std::uint64_t block) const {
    return static_cast<std::uint32_t>((block - first_data_block) / blocks_per_group);
  }
  // Cluster within its group that holds `block`.
  [[nodiscard]] std::uint32_t cluster_in_group(std::uint64_t block) const {
    return static_cast<std::uint32_t>((block - first_data_block) % blocks_per_group >>
                                      cluster_bits);
  }
  [[nodiscard]] std::uint64_t block_of(std::uint32_t group, std::uint32_t cluster) const {
    return first_block(group) + (static_cast<std::uint64_t>(cluster) << cluster_bits);
  }
  // Clusters that exist in `group`; the last group may be short.
  [[nodiscard]] std::uint32_t clusters_in(std::uint32_t group) const {
    const std::uint64_t left = blocks_count - first_block(group);
    const std::uint64_t blocks = std::min<std::uint64_t>(left, blocks_per_group);
    return static_cast<std::uint32_t>(to_clusters(blocks));
  }
  // Whether `group` exists and has all clusters of [start, start + len), at least one.
  [[nodiscard]] bool holds(std::uint32_t group, std::int64_t start, std::uint64_t len) const {
    if (group >= groups || start < 0 || len == 0) return false;
    const std::uint64_t clusters = clusters_in(group);
    return len <= clusters && static_cast<std::uint64_t>(start) <= clusters - len;
  }
  // Whether `block` lies in a group.
  [[nodiscard]] bool holds_block(std::uint64_t block) const {
    return block >= first_data_block && block < blocks_count;
  }
  // Clusters that `blocks` blocks need (rounded up), and blocks in `clusters` clusters.
  [[nodiscard]] std::uint64_t to_clusters(std::uint64_t blocks) const {
    return (blocks + (1ull << cluster_bits) - 1) >> cluster_bits;
  }
  [[nodiscard]] std::uint64_t to_blocks(std::uint64_t clusters) const {
    return clusters << cluster_bits;
  }
};

// A run of clusters in one group and the file block it starts at (struct ext4_free_extent).
struct Extent {
  std::uint32_t group = 0;
  std::uint32_t start = 0;    // cluster in the group
  std::uint32_t len = 0;      // clusters
  std::uint32_t logical = 0;  // file block
  friend bool operator==(const Extent&, const Extent&) = default;
};

// Whether both are the same clusters, whatever they are for.
[[nodiscard]] inline bool same_clusters(const Extent& a, const Extent& b) {
  return a.group == b.group && a.start == b.start && a.len == b.len;
}

// One past the last file block that `extent` covers, in 64 bits.
[[nodiscard]] inline std::uint64_t logical_end(const Geometry& geometry, const Extent& extent) {
  return extent.logical + geometry.to_blocks(extent.len);
}

// Position of the highest set bit, counted from 1; 0 for 0 (the kernel's fls).
[[nodiscard]] constexpr int fls(std::uint32_t n) {
  return n == 0 ? 0 : 32 - __builtin_clz(n);
}

}  // namespace e4r::state
