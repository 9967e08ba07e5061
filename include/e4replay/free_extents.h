// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace e4replay {

// The sizes of free extents, in blocks, counted as e2freefrag does. Bucket k holds extents of
// 2^(k-1) to 2^k - 1 blocks. The last bucket also holds all longer extents; bucket 0 is always
// empty. A *chunk* is an aligned run of `chunk_blocks` blocks. It is free when all its blocks are.
struct FreeExtents {
  static constexpr std::size_t kBuckets = 32;
  struct Bucket {
    std::uint64_t extents = 0;
    std::uint64_t blocks = 0;
    friend bool operator==(const Bucket&, const Bucket&) = default;
  };

  std::uint64_t chunk_blocks = 0;
  std::uint64_t count = 0;
  std::uint64_t blocks = 0;
  std::uint64_t min = 0;  // 0 when there is no free extent
  std::uint64_t max = 0;
  std::uint64_t free_chunks = 0;
  std::array<Bucket, kBuckets> buckets = {};

  // The average length of a free extent in whole blocks, rounded down; 0 when there is no free
  // extent.
  [[nodiscard]] std::uint64_t average() const { return count == 0 ? 0 : blocks / count; }
  friend bool operator==(const FreeExtents&, const FreeExtents&) = default;
};

}  // namespace e4replay
