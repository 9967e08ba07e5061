// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/free_extents.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "state/buddy.h"
#include "util/units.h"

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

// Returns the first block of a cluster, or blocks_count if the cluster lies after the end.
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

// Called when a free run has ended. Counts its pieces.
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

SpaceMap::SpaceMap(const Geometry& geometry, std::uint64_t cells) : geometry_(geometry) {
  const std::uint64_t blocks = geometry.blocks_count - geometry.first_data_block;
  cells_.resize(std::clamp<std::uint64_t>(cells, 1, blocks));
  each_ = blocks / cells_.size();
  larger_ = blocks % cells_.size();
  for (std::uint64_t cell = 0; cell < cells_.size(); ++cell) {
    cells_[cell].first_block = first_of(cell);
    cells_[cell].blocks = first_of(cell + 1) - first_of(cell);
  }
}

// The larger cells, with one more block each, come first. This sum cannot overflow, unlike cell *
// blocks / cells.
std::uint64_t SpaceMap::first_of(std::uint64_t cell) const {
  return geometry_.first_data_block + cell * each_ + std::min(cell, larger_);
}

std::uint64_t SpaceMap::cell_of(std::uint64_t block) const {
  const std::uint64_t at = block - geometry_.first_data_block;
  const std::uint64_t in_larger = larger_ * (each_ + 1);
  return at < in_larger ? at / (each_ + 1) : larger_ + (at - in_larger) / each_;
}

void SpaceMap::run(std::uint64_t first, std::uint64_t blocks) {
  std::uint64_t cell = cell_of(first);
  ++cells_[cell].free_extents;
  for (std::uint64_t at = first, end = first + blocks; at < end; ++cell) {
    const std::uint64_t next = std::min(end, cells_[cell].first_block + cells_[cell].blocks);
    cells_[cell].free_blocks += next - at;
    cells_[cell].longest = std::max(cells_[cell].longest, blocks);
    at = next;
  }
}

void SpaceMap::add(GroupNumber group, state::bitmap::ConstWords words) {
  const std::uint32_t clusters = geometry_.clusters_in(group);
  const std::uint64_t end = geometry_.first_block(group) + geometry_.blocks_in(group);
  state::bitmap::for_each_clear_run(words, clusters, [&](std::uint32_t from, std::uint32_t to) {
    const std::uint64_t first = geometry_.block_of(group, from);
    // The last cluster of the device may be short.
    run(first, std::min(end - first, geometry_.to_blocks(to - from)));
  });
}

void SpaceMap::merge(const SpaceMap& other) {
  for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
    cells_[cell].free_blocks += other.cells_[cell].free_blocks;
    cells_[cell].free_extents += other.cells_[cell].free_extents;
    cells_[cell].longest = std::max(cells_[cell].longest, other.cells_[cell].longest);
  }
}

void SpaceHistory::add(std::uint64_t decision, const state::FsState& state) {
  Frame frame;
  frame.decision = decision;
  for (std::uint32_t number = 0; number < now_.size(); ++number) {
    if (!state.group(number).own) continue;
    state.settled_words(number, words_);
    FreeChunkScan scan(state.geometry());
    scan.add(words_, state.geometry().clusters_in(number));
    const GroupFree now = scan.finish().groups.front();
    if (now == now_[number]) continue;
    now_[number] = now;
    frame.changes.push_back({number, now});
  }
  frames_.push_back(std::move(frame));
}

}  // namespace e4r::stats
