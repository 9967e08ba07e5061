// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/free_chunks.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace e4r::stats {

// Counts the pieces of the open run, which has ended.
void FreeChunkScan::close() {
  if (end_ == start_) return;
  const std::uint64_t blocks = geometry_.blocks_count - geometry_.first_data_block;
  const std::uint64_t first = geometry_.to_blocks(start_);
  const std::uint64_t last = std::min(geometry_.to_blocks(end_), blocks);
  for (std::size_t i = 0; i < FreeChunks::kSizeBits.size(); ++i) {
    const std::uint32_t bits = FreeChunks::kSizeBits[i] - geometry_.block_bits;
    const std::uint64_t from = (first + (1ull << bits) - 1) >> bits;
    const std::uint64_t to = last >> bits;
    if (to > from) space_.chunks.count[i] += to - from;
  }
}

// Adds clusters [from, to) of the group, a maximal free run in the group.
void FreeChunkScan::run(std::uint32_t from, std::uint32_t to) {
  GroupFree& group = space_.groups.back();
  ++group.runs;
  group.clusters += to - from;
  if (at_ + from != end_) {
    close();
    start_ = at_ + from;
  }
  end_ = at_ + to;
}

void FreeChunkScan::add(state::bitmap::ConstWords words, std::uint32_t clusters) {
  space_.aligned.add_group(geometry_, static_cast<GroupNumber>(space_.groups.size()), words);
  space_.groups.emplace_back();
  bool open = false;
  std::uint32_t start = 0;
  for (std::uint32_t at = 0; at < clusters; at += 64) {
    const std::uint64_t used = words[at / 64];
    // Marks each cluster that differs from the previous one.
    std::uint64_t edges = used ^ (used << 1 | (open ? 0 : 1));
    if (clusters - at < 64) edges &= (1ull << (clusters - at)) - 1;
    for (; edges != 0; edges &= edges - 1) {
      const std::uint32_t edge = at + static_cast<std::uint32_t>(std::countr_zero(edges));
      if (open)
        run(start, edge);
      else
        start = edge;
      open = !open;
    }
  }
  if (open) run(start, clusters);
  at_ += clusters;
}

FreeSpace FreeChunkScan::finish() {
  close();
  start_ = end_ = at_;
  return std::move(space_);
}

}  // namespace e4r::stats
