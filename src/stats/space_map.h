// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "ext4/geometry.h"
#include "state/bitmap.h"

namespace e4r::stats {

// The free space in an aligned part of a device.
struct SpaceCell {
  std::uint64_t first_block = 0;
  std::uint64_t blocks = 0;       // at least one
  std::uint64_t free_blocks = 0;  // at most `blocks`
  // free_extents counts the free extents that begin in this cell. longest is the length in blocks
  // of the longest extent with a block in this cell. An extent ends with its group, since no
  // request gets more (ext4_mb_regular_allocator, Linux 6.1).
  std::uint64_t free_extents = 0;
  std::uint64_t longest = 0;
  friend bool operator==(const SpaceCell&, const SpaceCell&) = default;
};

// Divides a file system into consecutive cells of equal size and counts the free space in each.
// Groups may be added in any order, and to several maps of the same shape.
class SpaceMap {
 public:
  // Makes at most `cells` cells, and at least one. They cover the blocks from first_data_block on.
  // Each has at least one block, and their sizes differ by at most one block.
  SpaceMap(const Geometry& geometry, std::uint64_t cells);

  // Adds a group's bitmap: bit k of the words (least significant first) is set if cluster k of the
  // group is in use. Must be called only once for each group.
  void add(GroupNumber group, state::bitmap::ConstWords words);
  // Adds the counts that `other`, of the same shape, made of other groups.
  void merge(const SpaceMap& other);

  [[nodiscard]] const std::vector<SpaceCell>& cells() const { return cells_; }

 private:
  void run(std::uint64_t first, std::uint64_t blocks);
  [[nodiscard]] std::uint64_t first_of(std::uint64_t cell) const;
  [[nodiscard]] std::uint64_t cell_of(std::uint64_t block) const;

  Geometry geometry_;
  std::vector<SpaceCell> cells_;
  std::uint64_t each_, larger_;  // a cell has each_ blocks, each of the first larger_ one more
};

}  // namespace e4r::stats
