// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "replay/file_layout.h"
#include "state/fs_state.h"
#include "stats/free_chunks.h"
#include "stats/free_extents.h"

namespace e4r::stats {

// Free space of the state as it would be on disk after a sync and unmount: preallocations given
// back, freed clusters free. The extents have chunks of 2^chunk_bits blocks.
struct SettledFree {
  FreeExtents extents;
  FreeSpace space;
};
[[nodiscard]] SettledFree settled_free(const state::FsState& state, std::uint32_t chunk_bits);

// The start image's, by the same count.
[[nodiscard]] SettledFree source_free(const state::Source& source, std::uint32_t chunk_bits);

// log2 of the blocks in a chunk of 1 MiB; of one block where that is larger.
[[nodiscard]] constexpr std::uint32_t mebibyte_bits(std::uint32_t block_bits) {
  return block_bits < 20 ? 20 - block_bits : 0;
}

// How files lie on the device.
struct FileFragmentation {
  std::uint64_t files = 0;    // with at least one block
  std::uint64_t extents = 0;  // runs that continue both in the file and on the device
  std::uint64_t blocks = 0;
  std::uint64_t most_extents = 0;  // of one file
  std::uint64_t one_extent = 0;    // files in a single run
  // The fewest extents that e4defrag (e2fsprogs 1.47, misc/e4defrag.c) believes the files can have:
  // one for each flex group that a file would fill.
  std::uint64_t best_extents = 0;

  // Counts one file, of any number of extents.
  void add(std::span<const FileExtent> extents_of_file, const Geometry& geometry);
  [[nodiscard]] double extents_per_file() const {
    return files == 0 ? 0 : static_cast<double>(extents) / static_cast<double>(files);
  }
  // The fragmentation score that `e4defrag -c` prints: up to 30 is no problem, up to 55 a little
  // fragmented, more needs defragmentation. e4defrag counts an extent of over 32,768 blocks as
  // several. None for no blocks.
  [[nodiscard]] std::optional<double> defrag_score() const;
};
// Of the files with a block that a trace allocated.
[[nodiscard]] FileFragmentation file_fragmentation(const replay::FileLayouts& files,
                                                   const Geometry& geometry);

}  // namespace e4r::stats
