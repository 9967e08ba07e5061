// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "results/rows.h"
#include "util/units.h"

namespace e4r::results {

// Returns every figure of every reporter once, in the order of a replay's table.
[[nodiscard]] std::vector<Row> table();

// Adds the figures of free space and of files, which are part of table().
void add_space(std::vector<Row>& out);

// Short names for Row::reporters.
inline constexpr std::uint8_t kReplay = by(Reporter::replay), kReview = by(Reporter::review),
                              kHunt = by(Reporter::hunt), kAge = by(Reporter::age),
                              kWriters = by(Reporter::writers), kWatch = by(Reporter::watch),
                              kMetrics = by(Reporter::metrics);

// part / all, or 0 if `all` is 0.
[[nodiscard]] inline double share(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

// A unit in which devices discard space (docs/metrics.md).
struct Granule {
  const char *name, *key;
  std::uint64_t bytes;
};
inline constexpr auto kGranules = std::to_array<Granule>(
    {{"64 KiB", "64k", 64 * kKiB}, {"1 MiB", "1m", kMiB}, {"16 MiB", "16m", 16 * kMiB}});

// The number of blocks in `bytes`; 1 if a block is larger.
[[nodiscard]] inline std::uint64_t blocks_in(const Outcome& o, std::uint64_t bytes) {
  return std::max<std::uint64_t>(bytes / o.geometry.block_size(), 1);
}

}  // namespace e4r::results
