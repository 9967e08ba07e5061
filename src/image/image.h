// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ext4/blocks.h"
#include "image/fs_info.h"
#include "util/status.h"

namespace e4r::image {

struct OpenOptions {
  bool strict = false;       // a bad group is an Error; otherwise it is reported and set aside
  unsigned threads = 0;      // threads that read bitmaps; 0: one per CPU
  bool load_bitmaps = true;  // false: read only superblock and descriptors; see scan_bitmaps()
  std::string name = {};     // for messages; empty: the path
};

// The fields of an inode that matter to the allocator.
struct InodeInfo {
  std::uint32_t ino = 0;
  std::uint16_t mode = 0;     // as in st_mode
  std::uint16_t links = 0;    // 0: the inode is not in use
  std::uint32_t flags = 0;    // as in EXT4_*_FL
  std::uint64_t size = 0;     // bytes
  std::uint64_t sectors = 0;  // units of 512 bytes, as in st_blocks
  bool extents = false;       // mapped by an extent tree rather than indirect blocks
  bool inline_data = false;
};

// An extent in the map of an inode.
struct MappedExtent : FileExtent {
  bool unwritten = false;  // the blocks read as zeros
  friend bool operator==(const MappedExtent&, const MappedExtent&) = default;
};

// Where the directories of an image have files.
struct FoundPaths {
  std::map<std::uint64_t, std::string> paths;  // by inode; of several names the first one found
  bool has_inodes = true;                      // false: the root's inode is no directory
  std::uint64_t unreadable = 0;                // directories whose names are not known
};

// An ext2, ext3 or ext4 file system in a regular file (sparse, or a raw e2image) or on a block
// device. It is opened only for reading: the descriptor is O_RDONLY and no journal is ever
// replayed.
//
// Whatever the bytes, open() returns an Image or an Error. Its memory use is proportional to the
// groups for which the file has room. Descriptors and bitmaps that the kernel would not trust make
// a *bad group*: it is reported once in warnings() and marked in groups(), and all its clusters are
// in use. Any other fault of the file system as a whole is an Error.
//
// Several threads may call const member functions at once.
class Image {
 public:
  [[nodiscard]] static Result<Image> open(const std::string& path, const OpenOptions& options = {});
  Image(Image&&) noexcept;
  Image& operator=(Image&&) noexcept;
  ~Image();

  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] const SuperblockInfo& superblock() const;
  [[nodiscard]] std::span<const GroupInfo> groups() const;
  // Lines for a person, in the form of an Error, about an unreplayed journal, recorded errors, a
  // mounted device and bad groups.
  [[nodiscard]] const std::vector<std::string>& warnings() const;
  // In ascending order. Complete once the bitmaps are loaded or scanned.
  [[nodiscard]] std::vector<GroupNumber> bad_groups() const;

  // The group's block bitmap. Bit k is set when cluster k of the group is in use; the least
  // significant bit of the first word is bit 0. It has words_per_group() words; bits past the
  // group's end are set. The bitmap of a BLOCK_UNINIT group is computed as the kernel initialises
  // it. Empty if the image was opened without load_bitmaps.
  [[nodiscard]] std::span<const std::uint64_t> bitmap(GroupNumber group) const;

  // Called once per group. `words` is as from bitmap() and valid during the call. A piece's groups
  // are visited in ascending order on one thread. Pieces run concurrently; their numbers are in the
  // order of their groups.
  using BitmapVisitor =
      std::function<void(unsigned piece, GroupNumber group, std::span<const std::uint64_t> words)>;
  // The number of pieces in scan_bitmaps().
  [[nodiscard]] unsigned scan_pieces() const;
  // Reads every bitmap without keeping it. Finds bad groups as loading does. With `strict`, the
  // lowest bad group is the Error.
  [[nodiscard]] Status scan_bitmaps(const BitmapVisitor& visit);

  // The blocks that descriptors and layout rules reserve: copies of the superblock with their
  // descriptors (including reserved descriptor blocks), bitmaps, inode tables. Ascending, with
  // neighbours merged. Locations outside the file system are left out.
  [[nodiscard]] std::vector<BlockRange> metadata() const;

  // Only the blocks that describe free space: the superblock, its descriptors, and the written
  // bitmaps of blocks and inodes. Ascending, with neighbours merged.
  [[nodiscard]] std::vector<BlockRange> bookkeeping() const;

  // Reads an inode. `links` is 0 if it is not in use. Errors: the number or the place in the inode
  // table is out of range; a failed read; a wrong checksum of the inode.
  [[nodiscard]] Result<InodeInfo> inode(std::uint32_t ino) const;
  // The data blocks of a file, mapped by extents or indirect blocks, in logical order with
  // neighbours merged. Metadata of the map is left out. An Error after `limit` extents, so that a
  // corrupted tree ends.
  [[nodiscard]] Result<std::vector<MappedExtent>> file_extents(std::uint32_t ino,
                                                               std::size_t limit = 1u << 22) const;

  // The paths of those inodes, from the root directory on: "/var/log/messages". Reads directories
  // until all are found; names are bytes as they stand there.
  [[nodiscard]] FoundPaths paths(const std::set<std::uint64_t>& inodes) const;

 private:
  struct Impl;
  explicit Image(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace e4r::image
