// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/free_extents.h"

#include <algorithm>
#include <bit>

namespace e4r::stats {

void FreeExtents::add(std::uint64_t first, std::uint64_t length) {
  const auto bucket =
      std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(length)), kBuckets - 1);
  ++buckets[bucket].extents;
  buckets[bucket].blocks += length;
  min = count == 0 ? length : std::min(min, length);
  max = std::max(max, length);
  ++count;
  blocks += length;
  const std::uint64_t round_up = (std::uint64_t{1} << chunk_bits) - 1;
  const std::uint64_t from = (first + round_up) >> chunk_bits;
  const std::uint64_t to = (first + length) >> chunk_bits;
  if (to > from) free_chunks += to - from;
}

std::uint64_t FreeExtents::blocks_in(std::uint64_t least) const {
  std::uint64_t out = 0;
  for (std::size_t k = 1; k < kBuckets; ++k)
    if (1ull << (k - 1) >= least) out += buckets[k].blocks;
  return out;
}

void FreeExtents::merge(const FreeExtents& other) {
  if (other.count == 0) return;
  min = count == 0 ? other.min : std::min(min, other.min);
  max = std::max(max, other.max);
  count += other.count;
  blocks += other.blocks;
  free_chunks += other.free_chunks;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    buckets[i].extents += other.buckets[i].extents;
    buckets[i].blocks += other.buckets[i].blocks;
  }
}

FreeExtentScan::FreeExtentScan(const BlockSpace& space, std::uint32_t chunk_bits,
                               std::uint64_t first_cluster)
    : space_(space), begin_(first_cluster), at_(first_cluster) {
  closed_.chunk_bits = chunk_bits;
}

// The first block of a cluster, or blocks_count if the cluster lies after the end.
std::uint64_t FreeExtentScan::block_of(std::uint64_t cluster) const {
  const std::uint64_t last = (space_.blocks_count - space_.first_block) >> space_.cluster_bits;
  return cluster > last ? space_.blocks_count
                        : space_.first_block + (cluster << space_.cluster_bits);
}

void FreeExtentScan::count(FreeExtents& into, std::uint64_t from, std::uint64_t to) const {
  const std::uint64_t first = block_of(from);
  const std::uint64_t end = block_of(to);
  if (end > first) into.add(first, end - first);
}

// Ends a run at cluster `at` and begins one of the opposite state.
void FreeExtentScan::toggle(std::uint64_t at) {
  if (!open_)
    start_ = at;
  else if (start_ == begin_)
    head_ = at - begin_;
  else
    count(closed_, start_, at);
  open_ = !open_;
}

void FreeExtentScan::word(std::uint64_t used, unsigned bits) {
  std::uint64_t edges = used ^ (used << 1 | (open_ ? 0 : 1));
  if (bits < 64) edges &= (std::uint64_t{1} << bits) - 1;
  for (; edges != 0; edges &= edges - 1)
    toggle(at_ + static_cast<unsigned>(std::countr_zero(edges)));
  at_ += bits;
}

void FreeExtentScan::add(std::span<const std::uint64_t> words, std::uint64_t clusters) {
  for (const std::uint64_t used : words.first(clusters / 64)) word(used, 64);
  if (clusters % 64 != 0) word(words[clusters / 64], static_cast<unsigned>(clusters % 64));
}

void FreeExtentScan::append(const FreeExtentScan& next) {
  if (next.at_ == next.begin_) return;
  const bool all_free = next.open_ && next.start_ == next.begin_;
  const bool begins_free = all_free || next.head_ > 0;
  if (begins_free != open_) toggle(at_);
  if (!all_free) {
    if (next.head_ > 0) toggle(at_ + next.head_);
    closed_.merge(next.closed_);
    open_ = next.open_;
    if (open_) start_ = next.start_;
  }
  at_ = next.at_;
}

FreeExtents FreeExtentScan::finish() const {
  FreeExtents all = closed_;
  count(all, begin_, begin_ + head_);
  if (open_) count(all, start_, at_);
  return all;
}

}  // namespace e4r::stats
