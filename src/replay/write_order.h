// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

#include "replay/file_layout.h"

namespace e4r::replay {

// The order in which blocks of files were allocated (docs/metrics.md). Allocations of data follow
// each other as decided; the blocks of one allocation, as they lie in the file. Counts are taken as
// allocations happen, so they include files that are gone by the end.
struct WriteOrder {
  std::uint64_t allocations = 0;  // of data
  std::uint64_t adjacent = 0;     // began on the device where the previous one had ended
  std::uint64_t neighbours = 0;   // pairs of blocks that follow each other in a file
  std::uint64_t in_order = 0;     // neighbours with no other block handed out between the two
  std::uint64_t continued = 0;    // allocations that begin right behind a block of their file
  std::uint64_t interrupted = 0;  // continued ones with another allocation in between

  // `file`: the layout before this allocation. Ignores an extent of length 0.
  void add(std::uint64_t ino, const FileLayout& file, const FileExtent& extent);

 private:
  std::uint64_t last_ino_ = 0;
  FileExtent last_;
};

}  // namespace e4r::replay
