// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "state/fs_state.h"

namespace e4r::age {

// The blocks of a device that were in use at the start or were written since. A thin volume or a
// drive that gets no discards keeps room for all of them.
class EverUsed {
 public:
  // The source must not be bigalloc.
  explicit EverUsed(const state::Source& source);

  // Blocks [first, first + count) of the file system are written.
  void add(std::uint64_t first, std::uint64_t count);

  [[nodiscard]] std::uint64_t blocks() const { return pieces(0); }
  // The number of pieces of 2^bits blocks, counted from block 0, that hold such a block.
  [[nodiscard]] std::uint64_t pieces(std::uint32_t bits) const;

 private:
  std::uint64_t blocks_count_;
  std::vector<bool> used_;  // by block
};

}  // namespace e4r::age
