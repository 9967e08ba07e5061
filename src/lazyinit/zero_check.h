// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lazyinit/tables.h"
#include "util/status.h"

namespace e4r::lazyinit {

// A range that should be zero: the unused part of a group's table, or a piece of the journal (no
// group).
struct Part {
  std::optional<std::uint32_t> group;
  ByteRange range;
};

// The unused parts of all tables, in the order of groups, and then the journal.
[[nodiscard]] std::vector<Part> parts_of(const Tables& tables, std::span<const ByteRange> journal);

// A byte that is not zero, or could not be read.
struct NotZero {
  std::optional<std::uint32_t> group;
  std::uint64_t offset = 0;  // in bytes from the start of the target
  bool unreadable = false;
};

struct Checked {
  std::uint64_t blocks = 0;        // file-system blocks that were looked at
  std::uint64_t blocks_total = 0;  // in all parts
  std::optional<NotZero> bad;      // the search ends at the first one
};

// Blocks in a sample. If a share f of the storage is not zero, a sample misses all of it with a
// probability of (1 - f)^4096: 1.7 % at f = 0.1 %, 1e-18 at 1 %. It is meant to find storage that
// is not prezeroed. Only reading everything finds a single stale table among thousands.
inline constexpr std::uint64_t kSampleBlocks = 4096;

// Reads every part, on `threads` threads. `bad` is in the earliest part that is not zero.
[[nodiscard]] Result<Checked> check_all_zero(Target& target, std::span<const Part> parts,
                                             std::uint32_t block_size, unsigned threads);

// Reads one block, drawn with `seed`, in each of kSampleBlocks equal slices of the parts, or all
// blocks if there are no more than that.
[[nodiscard]] Result<Checked> check_sample_zero(Target& target, std::span<const Part> parts,
                                                std::uint32_t block_size, std::uint64_t seed);

}  // namespace e4r::lazyinit
