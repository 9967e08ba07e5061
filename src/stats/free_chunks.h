// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "state/fs_state.h"
#include "stats/free_aligned.h"

namespace e4r::stats {

// Free space in pieces of 1, 16 and 128 MiB that begin at a multiple of their size from the first
// block of group 0. Up to the size of a group, these are the buddy system's chunks of that size.
// Larger pieces span several whole groups, so no single request can get one.
struct FreeChunks {
  static constexpr std::array<std::uint32_t, 3> kSizeBits = {20, 24, 27};  // log2 of bytes
  std::array<std::uint64_t, kSizeBits.size()> count = {};
  friend bool operator==(const FreeChunks&, const FreeChunks&) = default;
};

// A group's free clusters, and the number of free runs that they form.
struct GroupFree {
  std::uint32_t clusters = 0;
  std::uint32_t runs = 0;
  friend bool operator==(const GroupFree&, const GroupFree&) = default;
};

struct FreeSpace {
  FreeChunks chunks;
  AlignedFree aligned;
  std::vector<GroupFree> groups;
};

// Counts free space from the bitmaps of all groups, in ascending order of groups.
class FreeChunkScan {
 public:
  explicit FreeChunkScan(const Geometry& geometry) : geometry_(geometry) {}
  // Adds the next `clusters` clusters; set bits are in use.
  void add(state::bitmap::ConstWords words, std::uint32_t clusters);
  [[nodiscard]] FreeSpace finish();

 private:
  void run(std::uint32_t from, std::uint32_t to);
  void close();

  const Geometry& geometry_;
  FreeSpace space_;
  std::uint64_t at_ = 0;               // clusters seen
  std::uint64_t start_ = 0, end_ = 0;  // the free run seen last
};

}  // namespace e4r::stats
