// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ext4/geometry.h"
#include "util/status.h"

namespace e4r::image {

// The feature bits that matter to an allocator or a checker.
struct Features {
  bool extents = false;
  bool bigalloc = false;
  bool is64bit = false;
  bool flex_bg = false;
  bool meta_bg = false;
  bool uninit_bg = false;      // gdt_csum: a crc16 in each descriptor
  bool metadata_csum = false;  // crc32c over all metadata; implies checksums in descriptors
  bool sparse_super = false;
  bool sparse_super2 = false;
  bool has_journal = false;
  bool resize_inode = false;
  bool inline_data = false;
  // BLOCK_UNINIT and INODE_UNINIT are valid only with one of these features.
  [[nodiscard]] bool group_checksums() const { return uninit_bg || metadata_csum; }
};

// The contents of the superblock, checked for consistency: counts agree with each other and with
// the file size, shifts are in range, divisors are not zero.
struct SuperblockInfo : Geometry {
  std::uint64_t clusters_count = 0;  // number of clusters in all groups
  std::uint32_t inodes_count = 0;
  std::uint32_t inode_size = 0;
  std::uint32_t itable_blocks_per_group = 0;
  std::uint32_t desc_size = 0;  // size in bytes of a group descriptor on disk
  std::uint32_t desc_blocks = 0;
  std::uint32_t reserved_gdt_blocks = 0;
  std::uint32_t first_meta_bg = 0;  // in descriptor blocks; used only with meta_bg
  // The superblock's count of free blocks, not the sum over the groups.
  std::uint64_t free_blocks_count = 0;
  std::uint64_t reserved_blocks = 0;  // for root
  std::uint32_t stride = 0;           // RAID stride and stripe width in blocks; 0: not set
  std::uint32_t stripe_width = 0;
  std::uint32_t first_inode = 0;  // the first inode number that is not reserved
  Features features = {};
  bool needs_recovery = false;           // the journal has transactions to replay
  bool clean = true;                     // unmounted cleanly
  bool errors = false;                   // the kernel has recorded errors
  std::uint32_t default_mount_opts = 0;  // bits as in EXT4_DEFM_*
  std::string mount_opts = {};           // extra mount options kept in the superblock
  std::string label = {};
  std::string uuid = {};  // 8-4-4-4-12 lower-case hex
};

// The reason why nothing may be allocated in a group. For each of these faults, the kernel avoids
// the group or refuses to mount, so all blocks of the group count as in use.
enum class GroupFault : std::uint8_t {
  none,
  descriptor_range,     // a bitmap or the inode table lies outside the file system
  descriptor_checksum,  // the descriptor's checksum is wrong
  group_zero_uninit,    // group 0 has BLOCK_UNINIT, which is impossible
  bitmap_read,          // the block of the bitmap cannot be read
  bitmap_checksum,      // the bitmap's checksum is wrong
  bitmap_metadata,      // without flex_bg: the group's own metadata is free in the bitmap
  bitmap_padding,       // bits past the end of the group are not set
};

// The fault as the end of a sentence about the group: "block bitmap checksum is wrong".
[[nodiscard]] std::string_view describe(GroupFault fault);

// A group and its descriptor. The counts are those stored in the descriptor, not recounted from the
// bitmaps.
struct GroupInfo {
  Block first_block = 0;
  Block block_bitmap = 0;
  Block inode_bitmap = 0;
  Block inode_table = 0;
  std::uint32_t blocks = 0;
  std::uint32_t clusters = 0;
  std::uint32_t free_clusters = 0;
  std::uint32_t free_inodes = 0;
  std::uint32_t used_dirs = 0;
  std::uint32_t itable_unused = 0;
  // These three flags are false if the file system has no group checksums.
  bool block_uninit = false;
  bool inode_uninit = false;
  bool itable_zeroed = false;
  // The number of clusters that hold metadata of any group but are free in this group's bitmap.
  // Valid once the bitmaps are loaded.
  std::uint32_t free_metadata = 0;
  GroupFault fault = GroupFault::none;
  [[nodiscard]] bool bad() const { return fault != GroupFault::none; }
  // Whether the locations in the descriptor can be trusted.
  [[nodiscard]] bool has_places() const {
    return fault != GroupFault::descriptor_range && fault != GroupFault::descriptor_checksum;
  }
};

struct OpenOptions {
  bool strict = false;       // a bad group is an Error; otherwise it is reported and avoided
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

// An extent that an inode maps.
struct MappedExtent : FileExtent {
  bool unwritten = false;  // the blocks read as zeros
  friend bool operator==(const MappedExtent&, const MappedExtent&) = default;
};

// The result of Image::paths().
struct FoundPaths {
  std::map<std::uint64_t, std::string>
      paths;                     // by inode; the first name found if there are several
  bool has_inodes = true;        // false if the root inode is not a directory
  std::uint64_t unreadable = 0;  // directories that could not be read
};

// An ext2, ext3 or ext4 file system in a regular file (sparse, or a raw e2image) or on a block
// device. It is opened read-only (O_RDONLY), and the journal is never replayed.
//
// For arbitrary input, open() returns an Image or an Error. Its memory use is proportional to the
// number of groups that fit into the file. Descriptors and bitmaps that the kernel would not trust
// make a *bad group*: it is reported once in warnings() and marked in groups(), and all its
// clusters are in use. Any other fault of the file system as a whole is an Error.
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
  // Human-readable lines, worded like an Error, about an unreplayed journal, recorded errors, a
  // mounted device and bad groups.
  [[nodiscard]] const std::vector<std::string>& warnings() const;
  // In ascending order. Complete once the bitmaps are loaded or scanned.
  [[nodiscard]] std::vector<GroupNumber> bad_groups() const;

  // The group's block bitmap. Bit k is set if cluster k of the group is in use; the least
  // significant bit of the first word is bit 0. It has words_per_group() words; bits past the
  // group's end are set. The bitmap of a BLOCK_UNINIT group is computed in the way in which the
  // kernel initialises it. Empty if the image was opened without load_bitmaps.
  [[nodiscard]] std::span<const std::uint64_t> bitmap(GroupNumber group) const;

  // Called once per group. `words` is as from bitmap() and valid during the call. The groups of a
  // piece are visited in ascending order on one thread. Pieces run concurrently; a piece with
  // higher groups has a higher number.
  using BitmapVisitor =
      std::function<void(unsigned piece, GroupNumber group, std::span<const std::uint64_t> words)>;
  // The number of pieces in scan_bitmaps().
  [[nodiscard]] unsigned scan_pieces() const;
  // Reads every bitmap without keeping it. Finds bad groups in the same way as loading does. With
  // `strict`, the lowest bad group is the Error.
  [[nodiscard]] Status scan_bitmaps(const BitmapVisitor& visit);

  // The blocks that descriptors and layout rules reserve: copies of the superblock with their
  // descriptors (including reserved descriptor blocks), bitmaps, inode tables. Ascending, with
  // neighbours merged. Locations outside the file system are left out.
  [[nodiscard]] std::vector<BlockRange> metadata() const;

  // The blocks that describe free space: the superblock, the group descriptors, and the block and
  // inode bitmaps that have been written. Ascending, with neighbours merged.
  [[nodiscard]] std::vector<BlockRange> bookkeeping() const;

  // Reads an inode. `links` is 0 if it is not in use. Errors: the number or the location in the
  // inode table is out of range; a failed read; a wrong checksum of the inode.
  [[nodiscard]] Result<InodeInfo> inode(std::uint32_t ino) const;
  // The data blocks of a file, mapped by extents or indirect blocks, in logical order with
  // neighbours merged. Blocks of the extent tree and indirect blocks are left out. More than
  // `limit` extents are an Error, which bounds the work on a corrupted tree.
  [[nodiscard]] Result<std::vector<MappedExtent>> file_extents(std::uint32_t ino,
                                                               std::size_t limit = 1u << 22) const;

  // Returns the paths of these inodes from the root directory, such as "/var/log/messages". Reads
  // directories until all inodes are found. Names are the raw bytes of the directory entries.
  [[nodiscard]] FoundPaths paths(const std::set<std::uint64_t>& inodes) const;

 private:
  struct Impl;
  explicit Image(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace e4r::image
