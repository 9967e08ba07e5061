// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "replay/file_layout.h"

namespace e4r::stats {

// How files lie for a reader who goes from their first block to their last (docs/metrics.md). A
// block's predecessor is the nearest block before it that the file has; holes are passed over.
struct FileLayoutScore {
  // Bucket k counts files of 2^(k-1)+1 to 2^k extents (bucket 0: of one), the last all with more.
  static constexpr std::size_t kBuckets = 17;

  std::uint64_t files = 0;       // with at least one block
  std::uint64_t successors = 0;  // blocks that have a predecessor
  std::uint64_t following = 0;   // of these: right behind it on the device
  std::uint64_t distance = 0;  // blocks between the others and where a predecessor ends, summed up
  double median = 0;           // over files of two blocks and more: following / successors
  std::array<std::uint64_t, kBuckets> by_extents = {};

  // Times that a reader of every file has to leave the place where a block ended.
  [[nodiscard]] std::uint64_t seeks() const { return successors - following; }
  // All distances, spread over `among` seeks or files; whole KiB. 0 for none.
  [[nodiscard]] std::uint64_t distance_kb(std::uint64_t among, std::uint32_t block_size) const;
};

// Counts one file, of one extent or more in the order of the file, in everything but the median.
// Returns its share of blocks that follow; -1 when it has a single block.
double add_file(std::span<const FileExtent> extents, FileLayoutScore& score);

// In how many pieces a file lies.
struct FilePieces {
  std::uint64_t ino = 0;
  std::uint64_t extents = 0;
  std::uint64_t blocks = 0;
};
// Of each file with at least one block, by inode.
[[nodiscard]] std::vector<FilePieces> file_pieces(const replay::FileLayouts& files);

[[nodiscard]] FileLayoutScore file_layout_score(const replay::FileLayouts& files);

}  // namespace e4r::stats
