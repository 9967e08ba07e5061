// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <e4replay/export.h>
#include <e4replay/free_extents.h>
#include <e4replay/result.h>

namespace e4replay {

// The contents of the superblock. A block is a file-system block. A cluster is the unit of
// allocation: one block, or several with bigalloc.
struct FileSystem {
  std::uint32_t block_size = 0;   // bytes
  std::uint64_t blocks = 0;       // on the device, including those before group 0
  std::uint64_t free_blocks = 0;  // according to the superblock
  std::uint32_t first_block = 0;  // the first block of group 0
  std::uint32_t groups = 0;
  std::uint32_t blocks_per_group = 0;
  std::uint32_t clusters_per_group = 0;
  std::uint32_t blocks_per_cluster = 0;
  std::uint32_t inodes_per_group = 0;
  std::string label;
  std::string uuid;  // 8-4-4-4-12 lower-case hexadecimal digits
};

// A group and its descriptor. The free counts are those stored in the descriptor.
struct Group {
  std::uint64_t first_block = 0;
  std::uint32_t blocks = 0;
  std::uint32_t clusters = 0;
  std::uint32_t free_clusters = 0;
  std::uint32_t free_inodes = 0;
  // The damage that forbids allocations in the group, worded as the end of a sentence; empty if the
  // group is sound. Damage in a bitmap is found only when the bitmap is read.
  std::string fault;
};

struct ImageOptions {
  bool bitmaps = true;   // read all bitmaps and keep them: one bit per cluster
  bool strict = false;   // a damaged group is an Error; otherwise all its clusters count as in use
  unsigned threads = 0;  // threads that read bitmaps; 0: one per CPU
};

// An ext2, ext3 or ext4 file system in a file or on a block device, or the start image of a capture
// (.e4c). Opened read-only; the journal is not replayed.
//
// Cheap to copy: copies share the data. Several threads may call member functions at once.
class Image {
 public:
  // Errors: a file that cannot be read, holds no such file system, or contradicts itself.
  [[nodiscard]] E4REPLAY_API static Result<Image> open(const std::string& path,
                                                       const ImageOptions& options = {});
  E4REPLAY_API Image(const Image&);
  E4REPLAY_API Image(Image&&) noexcept;
  E4REPLAY_API Image& operator=(const Image&);
  E4REPLAY_API Image& operator=(Image&&) noexcept;
  E4REPLAY_API ~Image();

  [[nodiscard]] E4REPLAY_API const FileSystem& file_system() const;
  // Returns human-readable lines about an unreplayed journal, recorded errors and damaged groups.
  [[nodiscard]] E4REPLAY_API std::vector<std::string> warnings() const;
  // The group's descriptor. Error: `number` is not below file_system().groups.
  [[nodiscard]] E4REPLAY_API Result<Group> group(std::uint32_t number) const;
  // The group's bitmap. Bit k is set when cluster k is in use; the least significant bit of the
  // first word is bit 0. Bits past the group's end are set. Valid as long as the Image or a copy of
  // it exists. Empty without ImageOptions::bitmaps, and if the group does not exist.
  [[nodiscard]] E4REPLAY_API std::span<const std::uint64_t> bitmap(std::uint32_t number) const;

  // Counts the free extents, with chunks of `chunk_kb` KiB (0: 1 MiB). Reads the bitmaps unless
  // open() kept them. Errors: a chunk size that is not a power of two, is smaller than a block, or
  // is larger than 2^30 blocks; a failed read.
  [[nodiscard]] E4REPLAY_API Result<FreeExtents> free_extents(std::uint64_t chunk_kb = 0) const;

 private:
  friend class Access;
  struct Data;
  explicit Image(std::shared_ptr<Data> data);
  std::shared_ptr<Data> data_;
};

}  // namespace e4replay
