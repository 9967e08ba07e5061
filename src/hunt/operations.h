// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "age/workload.h"

namespace e4r::hunt {

// A workload.
struct Mix {
  std::uint64_t file_kb = 4;      // median size of a write in KiB
  std::uint32_t spread = 0;       // sizes vary by up to this many powers of two
  std::uint32_t appends = 0;      // percent of the operations that append
  std::uint32_t removals = 0;     // percent of the operations that remove a file
  std::uint32_t sync_every = 0;   // operations between syncs; 0: only at the end
  std::uint32_t operations = 16;  // not counting syncs
  std::uint32_t seed = 0;
};

// Limits of the operations.
struct Room {
  std::uint64_t blocks = 0;      // free blocks
  std::uint32_t block_size = 0;  // bytes
  std::uint32_t slots = 0;       // largest number of files
  std::uint64_t most = 0;        // largest total of written blocks
};

// Draws the operations of a mix. They use at most nine tenths of the free blocks, which leaves room
// for extent trees; at this limit, files are removed. Ends with a sync.
[[nodiscard]] std::vector<age::Operation> draw_operations(const Mix& mix, const Room& room);

}  // namespace e4r::hunt
