// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace e4r::stats {

// Maps bits of block bitmaps to blocks. Cluster c begins at block first_block + (c <<
// cluster_bits); the last one ends at blocks_count.
struct BlockSpace {
  std::uint64_t first_block = 0;
  std::uint64_t blocks_count = 0;
  std::uint32_t cluster_bits = 0;
};

// Sizes of free extents as e2freefrag counts them, in blocks. Bucket 0 is empty. Bucket k holds
// extents of 2^(k-1) to 2^k - 1 blocks; the last bucket also holds all longer ones. A *chunk* is an
// aligned run of 2^chunk_bits blocks; it is free if all its blocks are.
struct FreeExtents {
  static constexpr std::size_t kBuckets = 32;
  struct Bucket {
    std::uint64_t extents = 0;
    std::uint64_t blocks = 0;
    friend bool operator==(const Bucket&, const Bucket&) = default;
  };

  std::uint32_t chunk_bits = 0;
  std::uint64_t count = 0;
  std::uint64_t blocks = 0;
  std::uint64_t min = 0;  // 0 if there is no free extent
  std::uint64_t max = 0;
  std::uint64_t free_chunks = 0;
  std::array<Bucket, kBuckets> buckets = {};

  // Counts the maximal free extent [first, first + length); length > 0.
  void add(std::uint64_t first, std::uint64_t length);
  // Adds the counts of `other`, which must have the same chunk_bits.
  void merge(const FreeExtents& other);
  // Whole blocks, rounded down; 0 if there is no free extent.
  [[nodiscard]] std::uint64_t average() const { return count == 0 ? 0 : blocks / count; }
  // Free blocks in extents of at least `least` blocks, which must be a power of two.
  [[nodiscard]] std::uint64_t blocks_in(std::uint64_t least) const;
  friend bool operator==(const FreeExtents&, const FreeExtents&) = default;
};

// Turns bitmaps into FreeExtents. An extent that crosses from one add() to the next, or into an
// appended scan, counts as one extent. So a file system may be scanned in parts and in parallel:
//
//   FreeExtentScan low(space, bits, 0), high(space, bits, half);
//   low.add(words of the first half...); high.add(words of the second half...);
//   low.append(high);
//   FreeExtents all = low.finish();
class FreeExtentScan {
 public:
  // Starts a scan at cluster `first_cluster`, numbered across all groups.
  explicit FreeExtentScan(const BlockSpace& space, std::uint32_t chunk_bits,
                          std::uint64_t first_cluster = 0);

  // Adds the next `clusters` clusters. Bit k of the words (least significant first) is set if the
  // k-th of them is in use. Bits after the last cluster are ignored.
  void add(std::span<const std::uint64_t> words, std::uint64_t clusters);

  // Appends a scan that started at the cluster where this scan ended.
  void append(const FreeExtentScan& next);

  [[nodiscard]] FreeExtents finish() const;

 private:
  void word(std::uint64_t used, unsigned bits);
  void toggle(std::uint64_t at);
  [[nodiscard]] std::uint64_t block_of(std::uint64_t cluster) const;
  void count(FreeExtents& into, std::uint64_t from, std::uint64_t to) const;

  BlockSpace space_;
  FreeExtents closed_;   // free extents with a used cluster of this scan on both sides
  std::uint64_t begin_;  // clusters [begin_, at_) have been seen
  std::uint64_t at_;
  std::uint64_t head_ = 0;  // length of the free run at begin_, set when a used cluster ends it
  std::uint64_t start_ = 0;
  bool open_ = false;  // clusters [start_, at_) are free
};

}  // namespace e4r::stats
