// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "ext4/geometry.h"
#include "state/bitmap.h"

namespace e4r::stats {

// Free space in an aligned part of a device.
struct SpaceCell {
  std::uint64_t first_block = 0;
  std::uint64_t blocks = 0;       // at least one
  std::uint64_t free_blocks = 0;  // at most `blocks`
  // Free extents that begin here, and blocks of the longest one that has a block here. An extent
  // ends where its group does, since no request gets more (ext4_mb_regular_allocator, Linux 6.1).
  std::uint64_t free_extents = 0;
  std::uint64_t longest = 0;
  friend bool operator==(const SpaceCell&, const SpaceCell&) = default;
};

// Divides the groups of a file system into cells of equal size, in order, and counts the free space
// in each. Groups may be added in any order, and to several maps of the same shape.
class SpaceMap {
 public:
  // At most `cells` of them (at least one): a cell has at least one block. They cover the blocks
  // from first_data_block on, and differ by one block at most.
  SpaceMap(const Geometry& geometry, std::uint64_t cells);

  // The group's bitmap: bit k of the words (least significant first) is set when cluster k of the
  // group is in use. To be called once for a group.
  void add(GroupNumber group, state::bitmap::ConstWords words);
  // Adds what `other`, of the same shape, has counted of other groups.
  void merge(const SpaceMap& other);

  [[nodiscard]] const std::vector<SpaceCell>& cells() const { return cells_; }

 private:
  void run(std::uint64_t first, std::uint64_t blocks);
  [[nodiscard]] std::uint64_t first_of(std::uint64_t cell) const;
  [[nodiscard]] std::uint64_t cell_of(std::uint64_t block) const;

  Geometry geometry_;
  std::vector<SpaceCell> cells_;
  std::uint64_t each_,
      larger_;  // blocks of a cell, but of the first `larger_`, which have one more
};

}  // namespace e4r::stats
