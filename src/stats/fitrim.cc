// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/fitrim.h"

#include "state/bitmap.h"
#include "util/units.h"

namespace e4r::stats {

Result<std::uint64_t> fitrim_minlen(const Geometry& geometry, std::uint64_t bytes,
                                    std::uint64_t granularity) {
  const std::uint64_t clusters = geometry.to_clusters(bytes >> geometry.block_bits);
  if (clusters > geometry.clusters_per_group)
    return error("{} is longer than a group ({}): FITRIM refuses it", format_size(bytes),
                 format_size(std::uint64_t{geometry.blocks_per_group} << geometry.block_bits));
  return bytes < granularity ? geometry.to_clusters(granularity >> geometry.block_bits) : clusters;
}

void FitrimCount::add(std::span<const std::uint64_t> words, std::uint32_t size) {
  state::bitmap::for_each_clear_run(words, size, [this](std::uint32_t start, std::uint32_t end) {
    if (end - start < minlen) return;
    ++discards;
    clusters += end - start;
  });
}

}  // namespace e4r::stats
