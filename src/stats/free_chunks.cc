// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/free_chunks.h"

#include <algorithm>
#include <utility>

namespace e4r::stats {

// A run of free clusters ends in front of cluster `end`.
void FreeChunkScan::close(std::uint64_t end) {
  const std::uint64_t blocks = geometry_.blocks_count - geometry_.first_data_block;
  const std::uint64_t first = geometry_.to_blocks(start_);
  const std::uint64_t last = std::min(geometry_.to_blocks(end), blocks);
  for (std::size_t i = 0; i < FreeChunks::kSizeBits.size(); ++i) {
    const std::uint32_t bits = FreeChunks::kSizeBits[i] - geometry_.block_bits;
    const std::uint64_t from = (first + (1ull << bits) - 1) >> bits;
    const std::uint64_t to = last >> bits;
    if (to > from) space_.chunks.count[i] += to - from;
  }
}

void FreeChunkScan::add(state::bitmap::ConstWords words, std::uint32_t clusters) {
  GroupFree& group = space_.groups.emplace_back();
  for (std::uint32_t at = 0; at < clusters;) {
    const std::uint32_t used = state::bitmap::find_set(words, clusters, at);
    if (used > at) {
      ++group.runs;
      group.clusters += used - at;
    }
    if (used == clusters) break;
    if (at_ + used > start_) close(at_ + used);
    at = state::bitmap::find_clear(words, clusters, used);
    start_ = at_ + at;
  }
  at_ += clusters;
}

FreeSpace FreeChunkScan::finish() {
  if (at_ > start_) close(at_);
  start_ = at_;
  return std::move(space_);
}

FreeSpace source_free_space(const state::Source& source) {
  FreeChunkScan scan(source.geometry);
  for (std::uint32_t group = 0; group < source.groups.size(); ++group)
    scan.add(source.groups[group].words, source.geometry.clusters_in(group));
  return scan.finish();
}

}  // namespace e4r::stats
