// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

#include "replay/file_layout.h"

namespace e4r::replay {

// In which order the blocks of files were handed out (docs/metrics.md): allocations of data follow
// each other as decided, the blocks of one as they lie in the file. What is counted is counted as
// it happens, so files that are gone by the end have their part in it.
struct WriteOrder {
  std::uint64_t allocations = 0;  // of data
  std::uint64_t adjacent = 0;     // began on the device where the one before had ended
  std::uint64_t neighbours = 0;   // pairs of blocks that follow each other in a file
  std::uint64_t in_order = 0;     // of these: no other block was handed out between the two
  std::uint64_t continued = 0;    // allocations that begin right behind a block their file has
  std::uint64_t interrupted = 0;  // of these: another allocation had come in between

  // `file`: without what is handed out now. An extent of length 0 is none.
  void add(std::uint64_t ino, const FileLayout& file, const FileExtent& extent);

 private:
  std::uint64_t last_ino_ = 0;
  FileExtent last_;
};

}  // namespace e4r::replay
