// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lazyinit/target.h"
#include "util/status.h"

namespace e4r::lazyinit {

// A range of the target, in bytes.
struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  [[nodiscard]] std::uint64_t end() const { return offset + length; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// A block group's inode table and what its descriptor says about it. Inodes are counted from the
// start of the table. Without descriptor checksums the kernel trusts neither the flags nor the
// count of unused inodes (ext4_has_group_desc_csum, Linux 6.1). In that case all flags are false,
// `unused` is 0 and `unused_part` is empty.
struct Table {
  std::uint32_t group = 0;
  ByteRange whole;            // all blocks of the table
  std::uint32_t unused = 0;   // inodes at the end that were never used (bg_itable_unused)
  bool inode_uninit = false;  // EXT4_BG_INODE_UNINIT: no inode was ever used, regardless of
                              // `unused`
  bool block_uninit = false;  // EXT4_BG_BLOCK_UNINIT
  bool zeroed = false;        // EXT4_BG_INODE_ZEROED
  // The part that may be zeroed: the whole blocks after the block of the last used inode, or the
  // entire table with inode_uninit (ext4_init_inode_table, Linux 6.1 ialloc.c).
  ByteRange unused_part;
};

// The file system as a whole. Sizes are in bytes unless the name says blocks.
struct FileSystem {
  enum class Checksums : std::uint8_t { none, uninit_bg, metadata_csum };
  std::string label, uuid;
  std::uint64_t blocks = 0;
  std::uint32_t block_size = 0, inode_size = 0, inodes_per_group = 0, groups = 0;
  Checksums checksums = Checksums::none;  // checksums of group descriptors
  bool needs_recovery = false;            // the journal contains changes that have not been applied
                                          // yet
  // Whether the inodes of a group end within a block of their table. The kernel counts only whole
  // blocks (s_itb_per_group, Linux 6.1 super.c). It does not zero the last block but flags the
  // table, and reports an error for a group whose used inodes reach into that block.
  [[nodiscard]] bool ends_within_block() const {
    return block_size != 0 && std::uint64_t{inodes_per_group} * inode_size % block_size != 0;
  }
  bool at_rest = false;  // cleanly unmounted, no recorded errors, no journal to replay
};

// The inode tables of an ext4 file system and its descriptors, read from `target`, which must
// outlive the object. Changes stay in memory until flush(), which writes changed descriptor blocks
// with new checksums, and the superblock. Like the kernel's thread, flush() does not write copies
// of either: libext2fs ignores unused counts in a copy, and a flag missing from a copy only costs
// time.
//
// open() fails with a one-line Error that says what to do: not ext4, wrong checksum of the
// superblock or a descriptor, tables outside the file system, flags that contradict the counts next
// to them. Access::write also refuses unknown features, a journal to replay, recorded errors, a
// file system that was not cleanly unmounted, bitmaps outside the file system, and metadata that
// overlaps a table. Callers check once, under their lock, that the target is not in use (in_use.h).
class Tables {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Tables>> open(Target& target, Target::Access access);
  virtual ~Tables() = default;

  [[nodiscard]] virtual FileSystem file_system() const = 0;
  [[nodiscard]] virtual std::span<const Table> tables() const = 0;
  [[nodiscard]] virtual std::uint32_t inode_size() const = 0;
  [[nodiscard]] virtual std::uint32_t inodes_per_group() const = 0;
  [[nodiscard]] virtual std::uint32_t block_size() const = 0;
  // Whether there are descriptor checksums (uninit_bg or metadata_csum). Without them flags have no
  // meaning.
  [[nodiscard]] virtual bool has_group_checksums() const = 0;

  // Whether the bytes of this inode (numbers start at 1) are a deleted inode. In an unused part,
  // e2fsck and the kernel ignore a deleted inode as they ignore zeros.
  [[nodiscard]] virtual bool is_deleted_inode(std::uint32_t number,
                                              std::span<const std::byte> inode) const = 0;

  // Thread-safe; changes memory only. Does nothing without descriptor checksums.
  virtual void set_zeroed(std::uint32_t group, bool zeroed) = 0;
  // Writes descriptor blocks that have changed since the last flush, then the superblock if it has
  // changed. Does not sync: callers sync the tables before the call and the descriptors after it.
  [[nodiscard]] virtual Status flush() = 0;
  // Whether flush() also writes descriptor blocks to their copies. Needed for a new file system,
  // and when flags are cleared: a program that starts from a copy would trust the old flags in it.
  virtual void write_copies_too(bool too) = 0;

  // The text of s_mount_opts, which the kernel reads at mount; at most 63 bytes.
  [[nodiscard]] virtual std::string mount_options() const = 0;
  [[nodiscard]] virtual Status set_mount_options(const std::string& text) = 0;
};

}  // namespace e4r::lazyinit
