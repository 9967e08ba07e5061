// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "image/image.h"
#include "stats/free_extents.h"
#include "util/status.h"

namespace e4r::report {

// The figures that `e4replay freefrag` reports about an image.
struct FreeSpaceReport {
  struct BadGroup {
    GroupNumber group = 0;
    image::GroupFault fault = image::GroupFault::none;
  };
  std::string path;
  image::SuperblockInfo superblock;
  stats::FreeExtents extents;
  // The extents as e2freefrag 1.47.0 counts them. They differ from `extents` only with bigalloc,
  // where e2freefrag converts a block to a cluster twice: it sees only the first clusters and takes
  // them for larger ones.
  stats::FreeExtents printed;
  stats::AlignedFree aligned;
  bool chunks_wanted = false;                // a chunk size was asked for
  bool aligned_wanted = false;               // aligned pieces were asked for
  std::optional<stats::FitrimCount> fitrim;  // only if asked for
  std::vector<BadGroup> bad_groups;

  [[nodiscard]] std::uint64_t chunk_bytes() const {
    return std::uint64_t{superblock.block_size()} << extents.chunk_bits;
  }
  [[nodiscard]] bool text_is_wrong() const { return !(printed == extents); }
  // Whether the superblock's count of free blocks differs from the count in the bitmaps: the
  // superblock of a mounted disk is written only occasionally. Percentages in the text refer to the
  // superblock's count, as in e2freefrag. Percentages in the JSON document refer to the bitmaps.
  [[nodiscard]] bool superblock_is_old() const {
    return bad_groups.empty() && superblock.free_blocks_count != extents.blocks;
  }
  // The number of chunks that e2freefrag prints: one too many if the last chunk is whole.
  [[nodiscard]] std::uint64_t chunks() const {
    return (superblock.blocks_count >> extents.chunk_bits) + 1;
  }
};

// log2 of the blocks in a chunk of `chunk_kb` KiB (0: 1 MiB). The Error says why the size is not
// valid for this block size: not a power of two, smaller than a block, or more than 2^30 blocks.
[[nodiscard]] Result<std::uint32_t> chunk_bits(std::uint64_t chunk_kb, std::uint32_t block_size);

// Scans the bitmaps of an image that was opened with or without them. With `aligned`, also counts
// aligned pieces, which free_space_json() reports.
[[nodiscard]] Result<FreeSpaceReport> measure_free_space(image::Image& image,
                                                         std::uint32_t chunk_bits, bool aligned);

// Scans the bitmaps and counts what FITRIM would discard. `minlen` is in clusters.
[[nodiscard]] Result<stats::FitrimCount> measure_fitrim(image::Image& image, std::uint64_t minlen);

// Returns the output of e2freefrag 1.47.0 for the same image, byte for byte, so it uses `printed`
// and not `extents`. A table of aligned pieces and the count of FITRIM follow if they were
// requested.
[[nodiscard]] std::string free_space_text(const FreeSpaceReport& free);

// {"schema": "e4replay-freefrag/1", "image": ..., "free_extents": ..., "chunks": ..., "aligned":
// ..., "bad_groups": ...}, and "fitrim" if it was asked for. Indented, with a final newline.
[[nodiscard]] std::string free_space_json(const FreeSpaceReport& free);

}  // namespace e4r::report
