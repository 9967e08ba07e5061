// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "age/workload.h"

namespace e4r::hunt {

// What programs do to a file system.
struct Mix {
  std::uint64_t file_kb = 4;      // KiB: the middle of what is written at a time
  std::uint32_t spread = 0;       // sizes are up to so many powers of two away from it
  std::uint32_t appends = 0;      // percent of the operations: a file grows
  std::uint32_t removals = 0;     // percent: a file goes
  std::uint32_t sync_every = 0;   // operations; 0: at the end alone
  std::uint32_t operations = 16;  // but for syncs
  std::uint32_t seed = 0;
};

// What the operations may use.
struct Room {
  std::uint64_t blocks = 0;      // that are free
  std::uint32_t block_size = 0;  // bytes
  std::uint32_t slots = 0;       // files that there can be
  std::uint64_t most = 0;        // blocks that are written in all
};

// Draws the operations of a mix. They stay within nine tenths of the free blocks, so that trees of
// extents find room too; when that is full, files go. Ends with a sync.
[[nodiscard]] std::vector<age::Operation> draw_operations(const Mix& mix, const Room& room);

}  // namespace e4r::hunt
