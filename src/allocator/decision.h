// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

#include "allocator/request.h"
#include "ext4/criterion.h"
#include "ext4/geometry.h"
#include "ext4/request_flags.h"

namespace e4r::allocator {

// All that a decision shows to the outside: the contents of the closing trace event.
struct Decision {
  bool prealloc = false;  // served from a preallocation, without a search
  bool success = false;
  Extent orig, goal, result;   // result.len is 0 when there is no space
  std::uint32_t goal_len = 0;  // clusters; the goal's length before a rung trimmed it
  std::uint32_t found = 0;
  std::uint32_t groups_scanned = 0;
  mb::Criterion criterion = mb::Criterion::unknown;  // the criterion of a search
  std::uint32_t flags = 0;
  std::uint32_t tail = 0;
  std::uint32_t broken = 0;
  std::uint64_t block = 0;      // first block handed out
  std::uint32_t len = 0;        // clusters handed out; the rest of `result` is preallocated
  Inputs inputs;                // what it was decided with
  std::uint32_t conflicts = 0;  // clusters of a dictated result that were in use already
  std::uint64_t ns = 0;         // that a kernel's code took; 0: not measured
  // It hung on the size of the file, or on whether it is open for writing, and the trace has
  // neither: e4replay has chosen what goes with all that the trace shows.
  bool size_guessed = false, writers_guessed = false;
};

}  // namespace e4r::allocator
