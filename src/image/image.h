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
  unsigned threads = 0;      // for reading bitmaps; 0: one per CPU
  bool load_bitmaps = true;  // false: only superblock and descriptors; see scan_bitmaps()
  std::string name = {};     // what messages call it; empty: the path
};

// What the allocator looks at in an inode.
struct InodeInfo {
  std::uint32_t ino = 0;
  std::uint16_t mode = 0;     // as in st_mode
  std::uint16_t links = 0;    // 0: not in use
  std::uint32_t flags = 0;    // as in EXT4_*_FL
  std::uint64_t size = 0;     // bytes
  std::uint64_t sectors = 0;  // 512-byte units that the inode holds, as in st_blocks
  bool extents = false;       // mapped by an extent tree, not by indirect blocks
  bool inline_data = false;
};

// An extent as an inode maps it.
struct MappedExtent : FileExtent {
  bool unwritten = false;  // its blocks read as zeros
  friend bool operator==(const MappedExtent&, const MappedExtent&) = default;
};

// Where the directories of an image have files.
struct FoundPaths {
  std::map<std::uint64_t, std::string> paths;  // by inode; of several names the first one found
  bool has_inodes = true;                      // false: the root's inode is no directory
  std::uint64_t unreadable = 0;                // directories whose names are not known
};

// An ext2, ext3 or ext4 file system in a regular file (sparse, or a raw e2image) or on a block
// device, opened for reading: the descriptor is O_RDONLY and no journal is ever replayed.
//
// Whatever the bytes are, open() ends with an Image or an Error, and takes memory in proportion
// to the groups that the file has room for. Descriptors and bitmaps that the kernel would not
// trust make a *bad group*: reported once in warnings(), marked in groups(), all of its clusters
// in use. Everything else that is wrong with the file system as a whole is an Error.
//
// const member functions may be called from several threads at once.
class Image {
 public:
  [[nodiscard]] static Result<Image> open(const std::string& path, const OpenOptions& options = {});
  Image(Image&&) noexcept;
  Image& operator=(Image&&) noexcept;
  ~Image();

  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] const SuperblockInfo& superblock() const;
  [[nodiscard]] std::span<const GroupInfo> groups() const;
  // Lines for a person, in the form of an Error: unreplayed journal, recorded errors, a mounted
  // device, bad groups.
  [[nodiscard]] const std::vector<std::string>& warnings() const;
  // Ascending. Complete once the bitmaps were loaded or scanned.
  [[nodiscard]] std::vector<GroupNumber> bad_groups() const;

  // The group's block bitmap: bit k (least significant bit of the first word first) is set when
  // cluster k of the group is in use; words_per_group() words, bits past the group's end set.
  // BLOCK_UNINIT groups are computed as the kernel initialises them. Empty when the image was
  // opened without load_bitmaps.
  [[nodiscard]] std::span<const std::uint64_t> bitmap(GroupNumber group) const;

  // Called for each group once, `words` as in bitmap() and valid during the call. Groups of a
  // piece come in ascending order on one thread; pieces run concurrently and are numbered in
  // the order of their groups.
  using BitmapVisitor =
      std::function<void(unsigned piece, GroupNumber group, std::span<const std::uint64_t> words)>;
  // How many pieces scan_bitmaps() makes.
  [[nodiscard]] unsigned scan_pieces() const;
  // Reads every bitmap without keeping it. Finds bad groups as loading does. With `strict` the
  // lowest bad group becomes the Error.
  [[nodiscard]] Status scan_bitmaps(const BitmapVisitor& visit);

  // Blocks that the groups' descriptors and the layout rules set aside, wherever they lie:
  // superblock copies with descriptors (reserved ones included), bitmaps, inode tables. Ascending,
  // neighbours merged. Locations outside of the file system are left out.
  [[nodiscard]] std::vector<BlockRange> metadata() const;

  // Blocks that hold what is known of free space, and no more: the superblock, the descriptors that
  // go with it, and the bitmaps of blocks and inodes that have been written. Ascending, neighbours
  // merged.
  [[nodiscard]] std::vector<BlockRange> bookkeeping() const;

  // An Error when the number or the inode table's place is out of range or the read fails;
  // an inode that is not in use has links == 0. A wrong inode checksum is an Error as well.
  [[nodiscard]] Result<InodeInfo> inode(std::uint32_t ino) const;
  // Data blocks of a file in logical order, extents or indirect, neighbours merged; metadata of
  // the mapping left out. An Error after `limit` extents, so that a corrupted tree ends.
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
