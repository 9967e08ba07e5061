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

// One block group's inode table and what the descriptor says of it. Inodes are counted from the
// start of the table. Without descriptor checksums the flags and the count of unused inodes mean
// nothing to the kernel (ext4_itable_unused_count is only believed under ext4_has_group_desc_csum,
// Linux 6.1): then all flags are false, `unused` is 0 and `unused_part` is empty.
struct Table {
  std::uint32_t group = 0;
  ByteRange whole;            // all blocks of the table
  std::uint32_t unused = 0;   // inodes at the end that were never used (bg_itable_unused)
  bool inode_uninit = false;  // EXT4_BG_INODE_UNINIT: no inode was ever used, whatever `unused` is
  bool block_uninit = false;  // EXT4_BG_BLOCK_UNINIT
  bool zeroed = false;        // EXT4_BG_INODE_ZEROED
  // What may be zeroed: the whole blocks behind the one with the last used inode; all of the table
  // under inode_uninit (ext4_init_inode_table, Linux 6.1 ialloc.c).
  ByteRange unused_part;
};

// The file system as a whole. Sizes in bytes unless it says blocks.
struct FileSystem {
  enum class Checksums : std::uint8_t { none, uninit_bg, metadata_csum };
  std::string label, uuid;
  std::uint64_t blocks = 0;
  std::uint32_t block_size = 0, inode_size = 0, inodes_per_group = 0, groups = 0;
  Checksums checksums = Checksums::none;  // of group descriptors
  bool needs_recovery = false;            // the journal holds what is not here yet
  // Whether the inodes of a group end within a block of their table. The kernel counts whole blocks
  // only (s_itb_per_group, Linux 6.1 super.c): it leaves the last one as it is and flags the table,
  // and reports an error for a group whose used inodes reach into that block.
  [[nodiscard]] bool ends_within_block() const {
    return block_size != 0 && std::uint64_t{inodes_per_group} * inode_size % block_size != 0;
  }
  bool at_rest = false;  // cleanly unmounted, no errors on record, no such journal
};

// The inode tables of an ext4 file system and its descriptors, read from `target` (which must
// outlive the object). Changes are kept in memory until flush(), which writes changed descriptor
// blocks (with new checksums) and the superblock, and nothing else: the primary ones. Copies are
// left alone, as the kernel's thread leaves them: from a copy libext2fs takes no inode for unused.
//
// open() refuses, with one line that says what to do: no ext4, wrong superblock or descriptor
// checksum, tables outside of the file system, flags that contradict the counts beside them; for
// Access::write also unknown features, a journal to be replayed, recorded errors, a file system
// that was not cleanly unmounted, bitmaps outside of the file system, metadata that overlaps a
// table. Whether somebody uses the target is for callers to ask (in_use.h), once and under their
// lock.
class Tables {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Tables>> open(Target& target, Target::Access access);
  virtual ~Tables() = default;

  [[nodiscard]] virtual FileSystem file_system() const = 0;
  [[nodiscard]] virtual std::span<const Table> tables() const = 0;
  [[nodiscard]] virtual std::uint32_t inode_size() const = 0;
  [[nodiscard]] virtual std::uint32_t inodes_per_group() const = 0;
  [[nodiscard]] virtual std::uint32_t block_size() const = 0;
  // Descriptor checksums (uninit_bg or metadata_csum): without them flags mean nothing.
  [[nodiscard]] virtual bool has_group_checksums() const = 0;

  // Whether the bytes, found where the inode of this number (1 for the first) has its place in an
  // unused part, are one that was deleted here: e2fsck and the kernel pass it over, as they do
  // zeros.
  [[nodiscard]] virtual bool is_deleted_inode(std::uint32_t number,
                                              std::span<const std::byte> inode) const = 0;

  // Thread-safe, in memory. Nothing happens without descriptor checksums.
  virtual void set_zeroed(std::uint32_t group, bool zeroed) = 0;
  // Descriptor blocks that changed since the last flush, then the superblock if it changed; not
  // synced. Callers sync the tables before and the descriptors after.
  [[nodiscard]] virtual Status flush() = 0;

  // s_mount_opts: the options text that the kernel reads at mount; at most 63 bytes.
  [[nodiscard]] virtual std::string mount_options() const = 0;
  [[nodiscard]] virtual Status set_mount_options(const std::string& text) = 0;
};

}  // namespace e4r::lazyinit
