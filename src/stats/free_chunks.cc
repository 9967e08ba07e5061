// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/free_chunks.h"

#include <algorithm>

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
    if (to > from) chunks_.count[i] += to - from;
  }
}

void FreeChunkScan::add(state::bitmap::ConstWords words, std::uint32_t clusters) {
  for (std::uint32_t used = 0;;) {
    used = state::bitmap::find_set(words, clusters, used);
    if (used == clusters) break;
    if (at_ + used > start_) close(at_ + used);
    used = state::bitmap::find_clear(words, clusters, used);
    start_ = at_ + used;
  }
  at_ += clusters;
}

FreeChunks FreeChunkScan::finish() {
  if (at_ > start_) close(at_);
  start_ = at_;
  return chunks_;
}

FreeChunks settled_free_chunks(const state::FsState& state) {
  FreeChunkScan scan(state.geometry());
  std::vector<std::uint64_t> words;
  for (std::uint32_t group = 0; group < state.group_count(); ++group) {
    state.settled_words(group, words);
    scan.add(words, state.geometry().clusters_in(group));
  }
  return scan.finish();
}

FreeChunks source_free_chunks(const state::Source& source) {
  FreeChunkScan scan(source.geometry);
  for (std::uint32_t group = 0; group < source.groups.size(); ++group)
    scan.add(source.groups[group].words, source.geometry.clusters_in(group));
  return scan.finish();
}

}  // namespace e4r::stats
