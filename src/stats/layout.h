// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "replay/translation.h"
#include "state/fs_state.h"
#include "stats/free_extents.h"

namespace e4r::stats {

// The layout of files for a reader that reads each file from its first block to its last
// (docs/metrics.md). The predecessor of a block is the previous block of the file; holes are
// skipped.
struct FileLayoutScore {
  // Bucket 0 counts files of one extent, bucket k files of 2^(k-1)+1 to 2^k extents. The last
  // bucket counts all files with more.
  static constexpr std::size_t kBuckets = 17;

  std::uint64_t files = 0;       // files with at least one block
  std::uint64_t successors = 0;  // blocks with a predecessor
  std::uint64_t following = 0;   // successors directly after their predecessor on the device
  // For all other successors: the sum of the distances in blocks from the end of their predecessor.
  std::uint64_t distance = 0;
  double median = 0;  // median of following / successors over files of at least two blocks
  std::array<std::uint64_t, kBuckets> by_extents = {};

  // The number of times that a reader of every file must move to another place on the device.
  [[nodiscard]] std::uint64_t seeks() const { return successors - following; }
  // The sum of all distances divided by `among` seeks or files, in whole KiB; 0 if `among` is 0.
  [[nodiscard]] std::uint64_t distance_kb(std::uint64_t among, std::uint32_t block_size) const;
};

// Counts one file in all figures except the median. `extents` are in file order and not empty.
// Returns the share of the file's successors that follow their predecessor, or -1 for a file of one
// block.
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

// Free space as it would be on disk after a sync and unmount: preallocations are released, and
// freed clusters are free. Chunks of the extents have 2^chunk_bits blocks.
struct SettledFree {
  FreeExtents extents;
  FreeSpace space;
};
[[nodiscard]] SettledFree settled_free(const state::FsState& state, std::uint32_t chunk_bits);

// Counts the free space of the start image in the same way as settled_free() counts that of a
// state.
[[nodiscard]] SettledFree source_free(const state::Source& source, std::uint32_t chunk_bits);

// log2 of the blocks in a chunk of 1 MiB; 0 for blocks of more than 1 MiB.
[[nodiscard]] constexpr std::uint32_t mebibyte_bits(std::uint32_t block_bits) {
  return block_bits < 20 ? 20 - block_bits : 0;
}

// The fragmentation of files on the device.
struct FileFragmentation {
  std::uint64_t files = 0;    // files with at least one block
  std::uint64_t extents = 0;  // runs that are contiguous both in the file and on the device
  std::uint64_t blocks = 0;
  std::uint64_t most_extents = 0;  // the most extents of one file
  std::uint64_t one_extent = 0;    // files with a single extent
  // The fewest extents that e4defrag (e2fsprogs 1.47, misc/e4defrag.c) considers possible: one for
  // each flex group that a file would fill.
  std::uint64_t best_extents = 0;

  // Counts one file with any number of extents.
  void add(std::span<const FileExtent> extents_of_file, const Geometry& geometry);
  [[nodiscard]] double extents_per_file() const {
    return files == 0 ? 0 : static_cast<double>(extents) / static_cast<double>(files);
  }
  // The fragmentation score of `e4defrag -c`: up to 30 is no problem, up to 55 is slightly
  // fragmented, more needs defragmentation. e4defrag counts an extent of over 32,768 blocks as
  // several; this score does not. nullopt if there are no blocks.
  [[nodiscard]] std::optional<double> defrag_score() const;
};
// Counts the files that hold a block allocated in the trace.
[[nodiscard]] FileFragmentation file_fragmentation(const replay::FileLayouts& files,
                                                   const Geometry& geometry);

}  // namespace e4r::stats
