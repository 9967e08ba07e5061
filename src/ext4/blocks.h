// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

// Where things are on a device and in files: numbers, ranges and extents, for every layer. A range
// has a first and a count; an extent has a length, as ext4 calls it. docs/design-model.md says why
// numbers are plain integers. These types check nothing: Geometry knows what exists.
namespace e4r {

// A block of the device, counted in file-system blocks from its start.
using Block = std::uint64_t;
// Blocks that a file can have: ext4_lblk_t has 32 bits.
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

// A run of clusters in one group and the file block it starts at (struct ext4_free_extent). An
// extent that a trace names is a trace::RecordedExtent, which may hold any numbers.
struct Extent {
  GroupNumber group = 0;
  std::uint32_t start = 0;    // cluster in the group
  std::uint32_t len = 0;      // clusters
  std::uint32_t logical = 0;  // file block
  friend bool operator==(const Extent&, const Extent&) = default;
};

// Whether both cover the same clusters, whatever their file blocks.
[[nodiscard]] inline bool same_clusters(const Extent& a, const Extent& b) {
  return a.group == b.group && a.start == b.start && a.len == b.len;
}

// Blocks [logical, logical + len) of a file lie at [block, block + len) of the device.
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

}  // namespace e4r
