// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "replay/file_layout.h"

namespace e4r::stats {

// The layout of files for a reader that reads each file from its first block to its last
// (docs/metrics.md). A block's predecessor is the file's previous block; holes are skipped.
struct FileLayoutScore {
  // Bucket 0 counts files of one extent, bucket k files of 2^(k-1)+1 to 2^k extents. The last
  // bucket counts all files with more.
  static constexpr std::size_t kBuckets = 17;

  std::uint64_t files = 0;       // files with at least one block
  std::uint64_t successors = 0;  // blocks with a predecessor
  std::uint64_t following = 0;   // successors directly after their predecessor on the device
  std::uint64_t distance = 0;    // sum over all other successors of the blocks between them and the
                                 // end of their predecessor
  double median = 0;  // median of following / successors over files of at least two blocks
  std::array<std::uint64_t, kBuckets> by_extents = {};

  // The number of times a reader of every file has to move to another place on the device.
  [[nodiscard]] std::uint64_t seeks() const { return successors - following; }
  // The sum of all distances divided by `among` seeks or files, in whole KiB; 0 if `among` is 0.
  [[nodiscard]] std::uint64_t distance_kb(std::uint64_t among, std::uint32_t block_size) const;
};

// Counts one file in everything but the median. `extents` are in file order and not empty. Returns
// the share of the file's successors that follow their predecessor; -1 for a file of one block.
double add_file(std::span<const FileExtent> extents, FileLayoutScore& score);

// The number of pieces of one file.
struct FilePieces {
  std::uint64_t ino = 0;
  std::uint64_t extents = 0;
  std::uint64_t blocks = 0;
};
// Returns the pieces of each file with at least one block, ordered by inode.
[[nodiscard]] std::vector<FilePieces> file_pieces(const replay::FileLayouts& files);

[[nodiscard]] FileLayoutScore file_layout_score(const replay::FileLayouts& files);

}  // namespace e4r::stats
