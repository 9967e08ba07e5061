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
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// One block group's inode table and what the descriptor says of it. Inodes are counted from the
// start of the table; `unused` is bg_itable_unused after the kernel's checks: 0 when the
// descriptor's checksum does not cover it (ext4_itable_unused_count, Linux 6.1 super.c).
struct Table {
  std::uint32_t group = 0;
  ByteRange whole;            // all blocks of the table
  std::uint32_t unused = 0;   // inodes at the end that were never used
  bool inode_uninit = false;  // EXT4_BG_INODE_UNINIT
  bool block_uninit = false;  // EXT4_BG_BLOCK_UNINIT
  bool zeroed = false;        // EXT4_BG_INODE_ZEROED
  ByteRange unused_part;      // whole blocks behind the used inodes: what may be zeroed
};

// The inode tables of an ext4 file system and its descriptors, read from `target` (which must
// outlive the object). Changes are kept in memory until flush(), which writes changed descriptor
// blocks (with new checksums) and the superblock, and nothing else.
//
// open() refuses, with one line that says what to do: no ext4, wrong superblock or descriptor
// checksum, tables outside of the file system; for Access::write also a journal to be replayed,
// recorded errors, and a mounted device.
class Tables {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Tables>> open(Target& target, Target::Access access);
  virtual ~Tables() = default;

  [[nodiscard]] virtual std::span<const Table> tables() const = 0;
  [[nodiscard]] virtual std::uint32_t inode_size() const = 0;
  [[nodiscard]] virtual std::uint32_t inodes_per_group() const = 0;
  [[nodiscard]] virtual std::uint32_t block_size() const = 0;
  // Descriptor checksums (uninit_bg or metadata_csum): without them flags mean nothing.
  [[nodiscard]] virtual bool has_group_checksums() const = 0;

  // Thread-safe, in memory.
  virtual void set_zeroed(std::uint32_t group, bool zeroed) = 0;
  // Descriptor blocks that changed since the last flush, then the superblock if it changed; not
  // synced. Callers sync the tables before and the descriptors after.
  [[nodiscard]] virtual Status flush() = 0;

  // s_mount_opts: the options text that the kernel reads at mount; at most 63 bytes.
  [[nodiscard]] virtual std::string mount_options() const = 0;
  [[nodiscard]] virtual Status set_mount_options(const std::string& text) = 0;
};

}  // namespace e4r::lazyinit
