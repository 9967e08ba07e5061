// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/free_aligned.h"

#include <algorithm>

namespace e4r::stats {

std::uint32_t AlignedFree::order(const Geometry& geometry, std::size_t i) {
  const std::uint32_t bits = kSizeBits[i];
  const std::uint32_t blocks = bits > geometry.block_bits ? bits - geometry.block_bits : 0;
  return std::max(blocks, geometry.cluster_bits);
}

void AlignedFree::add(const Geometry& geometry, const BlockRange& run) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::uint32_t bits = order(geometry, i);
    const std::uint64_t from = (run.first + (1ull << bits) - 1) >> bits;
    const std::uint64_t to = run.end() >> bits;
    if (to > from) pieces[i] += to - from;
  }
}

void AlignedFree::add_group(const Geometry& geometry, GroupNumber group,
                            state::bitmap::ConstWords words) {
  const std::uint32_t clusters = geometry.clusters_in(group);
  const std::uint64_t blocks = geometry.blocks_in(group);
  state::bitmap::for_each_clear_run(words, clusters, [&](std::uint32_t start, std::uint32_t end) {
    const std::uint64_t first = geometry.to_blocks(start);
    const std::uint64_t last = std::min(geometry.to_blocks(end), blocks);
    add(geometry, {geometry.first_block(group) + first, last - first});
  });
}

void AlignedFree::merge(const AlignedFree& other) {
  for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i] += other.pieces[i];
}

}  // namespace e4r::stats
