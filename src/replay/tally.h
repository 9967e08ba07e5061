// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

namespace e4r::replay {

// What happened, besides the allocator's own counters.
struct Tally {
  std::uint64_t requests = 0;  // allocations decided
  std::uint64_t metadata = 0;  // allocations without HINT_DATA
  // Metadata allocations for the mapping blocks of regular files (extent tree nodes, indirect
  // blocks). A file's layout decides how many it needs. A replay that places the data otherwise
  // still makes as many as were recorded.
  std::uint64_t mapping = 0;
  std::uint64_t allocated_blocks = 0;
  std::uint64_t failed = 0;    // no space
  std::uint64_t refused = 0;   // turned away by the kernel before its allocator
  std::uint64_t absorbed = 0;  // recorded requests that an earlier request had served already
  std::uint64_t extra = 0;     // requests that the recorded kernel did not need
  std::uint64_t freed_clusters = 0;
  std::uint64_t bad_frees = 0;  // frees of blocks that are not in use
  std::uint64_t commits = 0;
  std::uint64_t guessed_sizes = 0;    // Decision::size_guessed
  std::uint64_t guessed_writers = 0;  // Decision::writers_guessed
  std::uint64_t unanswered = 0;       // allocations cut off by the end of the trace
  std::uint64_t lost_events = 0;
  std::uint64_t bad_requests = 0;  // Contradictions::outside
};

}  // namespace e4r::replay
