// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/space_map.h"

#include <algorithm>

namespace e4r::stats {

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

// The larger cells come first, so no product can overflow.
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

}  // namespace e4r::stats
