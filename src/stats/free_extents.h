// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "ext4/geometry.h"
#include "state/buddy.h"
#include "state/fs_state.h"
#include "util/status.h"

namespace e4r::stats {

// Maps bits of block bitmaps to blocks. Cluster c begins at block first_block + (c <<
// cluster_bits); the last one ends at blocks_count.
struct BlockSpace {
  std::uint64_t first_block = 0;
  std::uint64_t blocks_count = 0;
  std::uint32_t cluster_bits = 0;
};

// Sizes of free extents as e2freefrag counts them, in blocks. Bucket 0 is empty. Bucket k holds
// extents of 2^(k-1) to 2^k - 1 blocks; the last bucket also holds all longer ones. A chunk is an
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

// Counts free pieces of 16, 64 and 256 KiB that begin at a multiple of their size from block 0 of
// the device and lie inside one group. A request of that size and alignment can get such a piece,
// since no request gets blocks of two groups. Pieces of one size do not overlap, so their number is
// the number of such requests that can succeed one after another. A piece is at least one block and
// one cluster.
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

// Returns the length in clusters of the shortest run that FITRIM discards (ext4_trim_fs,
// fs/ext4/mballoc.c, Linux 6.1.192 and 7.3.4). `bytes` is the minlen of the ioctl, `granularity`
// the device's discard granularity in bytes. A minlen below the granularity counts as the
// granularity. The result 0 has the same effect as 1. Fails for a minlen longer than a group, as
// the ioctl does.
[[nodiscard]] Result<std::uint64_t> fitrim_minlen(const Geometry& geometry, std::uint64_t bytes,
                                                  std::uint64_t granularity);

// Counts the free runs that FITRIM discards on a file system just after it was mounted, when no
// group counts as trimmed. These are the runs of at least minlen clusters in each group.
struct FitrimCount {
  std::uint64_t minlen = 0;  // clusters
  std::uint64_t discards = 0;
  std::uint64_t clusters = 0;

  // Counts one group. Bit k of the words is set if cluster k is in use. Bits after the last of its
  // `size` clusters are ignored.
  void add(std::span<const std::uint64_t> words, std::uint32_t size);
};

// The free space in an aligned part of a device.
struct SpaceCell {
  std::uint64_t first_block = 0;
  std::uint64_t blocks = 0;       // at least one
  std::uint64_t free_blocks = 0;  // at most `blocks`
  // free_extents counts the free extents that begin in this cell. longest is the length in blocks
  // of the longest extent with a block in this cell. An extent ends at the end of its group, since
  // no request gets blocks of two groups (ext4_mb_regular_allocator, Linux 6.1).
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
  // Adds the counts of `other`, a map of the same shape that has counted other groups.
  void merge(const SpaceMap& other);

  [[nodiscard]] const std::vector<SpaceCell>& cells() const { return cells_; }

 private:
  void run(std::uint64_t first, std::uint64_t blocks);
  [[nodiscard]] std::uint64_t first_of(std::uint64_t cell) const;
  [[nodiscard]] std::uint64_t cell_of(std::uint64_t block) const;

  Geometry geometry_;
  std::vector<SpaceCell> cells_;
  std::uint64_t each_, larger_;  // a cell has each_ blocks, and the first larger_ cells have one
                                 // more
};

// The groups' free space over the course of a replay, counted as in settled_free(). The first frame
// holds the groups that differ from the start image. Each later frame holds the groups that differ
// from the previous frame.
class SpaceHistory {
 public:
  struct Change {
    std::uint32_t group = 0;
    GroupFree now;
  };
  struct Frame {
    std::uint64_t decision = 0;  // the number of the decision before this frame
    std::vector<Change> changes;
  };

  SpaceHistory() = default;
  // `start` holds every group of the start image.
  explicit SpaceHistory(std::vector<GroupFree> start) : now_(std::move(start)) {}

  // Restores a recorded history.
  explicit SpaceHistory(std::vector<Frame> frames) : frames_(std::move(frames)) {}

  // Adds a frame; decisions must ascend. Reads the bitmaps of all groups changed since the start.
  void add(std::uint64_t decision, const state::FsState& state);

  [[nodiscard]] const std::vector<Frame>& frames() const { return frames_; }

 private:
  std::vector<GroupFree> now_;
  std::vector<Frame> frames_;
  std::vector<std::uint64_t> words_;  // scratch
};

}  // namespace e4r::stats
