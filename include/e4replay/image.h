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

// What the superblock says. Blocks are file-system blocks; clusters are the units of allocation,
// which are blocks unless the file system has bigalloc.
struct FileSystem {
  std::uint32_t block_size = 0;   // bytes
  std::uint64_t blocks = 0;       // of the device, those before group 0 included
  std::uint64_t free_blocks = 0;  // by the superblock
  std::uint32_t first_block = 0;  // where group 0 begins
  std::uint32_t groups = 0;
  std::uint32_t blocks_per_group = 0;
  std::uint32_t clusters_per_group = 0;
  std::uint32_t blocks_per_cluster = 0;
  std::uint32_t inodes_per_group = 0;
  std::string label;
  std::string uuid;  // 8-4-4-4-12 lower-case hexadecimal digits
};

// A group's descriptor. Counts are the stored ones.
struct Group {
  std::uint64_t first_block = 0;
  std::uint32_t blocks = 0;
  std::uint32_t clusters = 0;
  std::uint32_t free_clusters = 0;
  std::uint32_t free_inodes = 0;
  // Why nothing may be allocated in it, for the end of a sentence; empty when it is sound. Bitmaps
  // are judged once they have been read.
  std::string fault;
};

struct ImageOptions {
  bool bitmaps = true;   // read all of them and keep them: a bit for each cluster
  bool strict = false;   // a damaged group is an Error; otherwise all of it counts as in use
  unsigned threads = 0;  // that read bitmaps; 0: one per CPU
};

// An ext2, ext3 or ext4 file system in a file or on a block device, or the start image of a capture
// (.e4c). It is opened for reading only, and no journal is replayed.
//
// Cheap to copy: copies share what was read. All member functions may be called from several
// threads at once.
class Image {
 public:
  // Errors: what cannot be read, is no such file system, or contradicts itself.
  [[nodiscard]] E4REPLAY_API static Result<Image> open(const std::string& path,
                                                       const ImageOptions& options = {});
  E4REPLAY_API Image(const Image&);
  E4REPLAY_API Image(Image&&) noexcept;
  E4REPLAY_API Image& operator=(const Image&);
  E4REPLAY_API Image& operator=(Image&&) noexcept;
  E4REPLAY_API ~Image();

  [[nodiscard]] E4REPLAY_API const FileSystem& file_system() const;
  // Lines for a person: an unreplayed journal, recorded errors, damaged groups.
  [[nodiscard]] E4REPLAY_API std::vector<std::string> warnings() const;
  // `number` is below file_system().groups; else the Error says so.
  [[nodiscard]] E4REPLAY_API Result<Group> group(std::uint32_t number) const;
  // The group's bitmap: bit k, the least significant bit of the first word first, is set when
  // cluster k is in use; bits past the group's end are set. Valid as long as the Image or a copy.
  // Empty without ImageOptions::bitmaps, and when there is no such group.
  [[nodiscard]] E4REPLAY_API std::span<const std::uint64_t> bitmap(std::uint32_t number) const;

  // Counts the free extents, with chunks of `chunk_kb` KiB (0: 1 MiB). Reads the bitmaps unless
  // they are kept. Errors: a chunk size that is no power of two, is smaller than a block or larger
  // than 2^30 blocks; a read that failed.
  [[nodiscard]] E4REPLAY_API Result<FreeExtents> free_extents(std::uint64_t chunk_kb = 0) const;

 private:
  friend class Access;
  struct Data;
  explicit Image(std::shared_ptr<Data> data);
  std::shared_ptr<Data> data_;
};

}  // namespace e4replay
