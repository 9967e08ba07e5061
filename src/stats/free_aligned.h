// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>

#include "ext4/geometry.h"
#include "state/bitmap.h"

namespace e4r::stats {

// Counts free pieces of 16, 64 and 256 KiB that begin at a multiple of their size from block 0 of
// the device and lie inside one group. A request of that size and alignment can get such a piece,
// since no request gets blocks of two groups. Pieces of one size do not overlap, so their number is
// the number of requests that succeed in a row. A piece is at least one block and one cluster.
struct AlignedFree {
  static constexpr std::array<std::uint32_t, 3> kSizeBits = {14, 16, 18};  // log2 of bytes
  std::array<std::uint64_t, kSizeBits.size()> pieces = {};

  // log2 of the blocks in a piece of the i-th size.
  [[nodiscard]] static std::uint32_t order(const Geometry& geometry, std::size_t i);
  // Counts a maximal free run of blocks inside one group.
  void add(const Geometry& geometry, const BlockRange& run);
  // Counts the group's free runs; set bits are in use.
  void add_group(const Geometry& geometry, GroupNumber group, state::bitmap::ConstWords words);
  // Adds the counts of `other`.
  void merge(const AlignedFree& other);
  // Blocks in all pieces of the i-th size.
  [[nodiscard]] std::uint64_t blocks(const Geometry& geometry, std::size_t i) const {
    return pieces[i] << order(geometry, i);
  }
  friend bool operator==(const AlignedFree&, const AlignedFree&) = default;
};

}  // namespace e4r::stats
