// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lazyinit/superblock.h"
#include "lazyinit/tables.h"
#include "lazyinit/target.h"
#include "util/status.h"

// Internal to src/lazyinit: the primary group descriptors in memory.
namespace e4r::lazyinit {

// The fields of a descriptor that this program uses, with low and high halves joined.
struct Descriptor {
  std::uint64_t block_bitmap = 0, inode_bitmap = 0, inode_table = 0;  // blocks
  std::uint32_t free_inodes = 0;
  std::uint32_t itable_unused = 0;
  std::uint32_t inode_bitmap_checksum = 0;  // its high half is 0 in 32-byte descriptors
  std::uint16_t flags = 0;                  // EXT2_BG_*
};

// All group descriptors in memory. Remembers which of their blocks have changed. Not thread-safe.
class Descriptors {
 public:
  // Creates an object without descriptors. The superblock must outlive it.
  explicit Descriptors(const Superblock& super);
  // Reads the descriptors in as few calls as possible, at most 2 MiB at a time. With meta_bg, each
  // block takes one call.
  [[nodiscard]] static Result<Descriptors> read(Target& target, const Superblock& super);

  [[nodiscard]] std::uint32_t count() const { return super_->groups; }
  [[nodiscard]] Descriptor get(std::uint32_t group) const;
  [[nodiscard]] bool checksum_ok(std::uint32_t group) const;
  // The first group whose checksum is wrong.
  [[nodiscard]] std::optional<std::uint32_t> first_damaged() const;

  // These change memory only. Each recomputes the checksum and marks the block as changed, if the
  // value changes.
  void set_flags(std::uint32_t group, std::uint16_t flags);
  void set_itable_unused(std::uint32_t group, std::uint32_t unused);
  // Recomputes the checksum after the features of the superblock have changed.
  void recompute_checksum(std::uint32_t group);

  // Writes the blocks that have changed, adjacent ones in one call. Does not sync. With `copies`,
  // also writes their backup copies.
  [[nodiscard]] Status write(Target& target, bool copies = false);
  // Returns the backup copies of the descriptor blocks. The layout determines where copies should
  // be. In a damaged file system, anything may be there. So a block counts as a copy only if its
  // descriptors contain the same locations of bitmaps and tables as the primary descriptors.
  struct Copy {
    std::uint64_t block = 0;             // file-system block
    std::uint32_t first = 0, count = 0;  // descriptor blocks that the copy contains
  };
  [[nodiscard]] std::vector<Copy> find_copies(Target& target) const;

 private:
  [[nodiscard]] std::span<std::byte> bytes(std::uint32_t group);
  [[nodiscard]] std::span<const std::byte> bytes(std::uint32_t group) const;
  // `descriptor` is in on-disk byte order.
  void store(std::uint32_t group, const ext4_group_desc& descriptor);
  [[nodiscard]] ext4_group_desc load(std::uint32_t group) const;
  [[nodiscard]] bool is_copy(Target& target, const Copy& copy) const;
  [[nodiscard]] Status write_copies(Target& target) const;

  const Superblock* super_;
  std::vector<std::byte> blocks_;
  std::vector<bool> changed_;  // for each descriptor block
};

// The class of the object that Tables::open() returns. Its further functions serve to enable and
// disable lazy initialisation. Internal to src/lazyinit.

class Ext4Tables final : public Tables {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Ext4Tables>> open(Target& target,
                                                                Target::Access access);

  [[nodiscard]] FileSystem file_system() const override;
  [[nodiscard]] std::span<const Table> tables() const override { return tables_; }
  [[nodiscard]] std::uint32_t inode_size() const override { return super_.inode_size; }
  [[nodiscard]] std::uint32_t inodes_per_group() const override { return super_.inodes_per_group; }
  [[nodiscard]] std::uint32_t block_size() const override { return super_.block_size(); }
  [[nodiscard]] bool has_group_checksums() const override { return super_.group_checksums(); }
  [[nodiscard]] bool is_deleted_inode(std::uint32_t number,
                                      std::span<const std::byte> inode) const override {
    return super_.is_deleted_inode(number, inode);
  }
  void set_zeroed(std::uint32_t group, bool zeroed) override;
  [[nodiscard]] Status flush() override;
  void write_copies_too(bool too) override { copies_ = too; }
  [[nodiscard]] std::string mount_options() const override;
  [[nodiscard]] Status set_mount_options(const std::string& text) override;

  [[nodiscard]] const Superblock& super() const { return super_; }
  [[nodiscard]] Descriptor descriptor(std::uint32_t group) const { return descriptors_.get(group); }
  // Returns the byte ranges of the tables, the bitmaps, and all copies of the superblock and the
  // descriptors.
  [[nodiscard]] std::vector<ByteRange> metadata() const;
  // Changes memory only: sets a group's flags (EXT2_BG_*) and number of unused inodes.
  void set_group(std::uint32_t group, std::uint16_t flags, std::uint32_t unused);

 private:
  explicit Ext4Tables(Target& target) : target_(target) {}
  [[nodiscard]] Status load();
  [[nodiscard]] Status check_group(std::uint32_t group) const;
  [[nodiscard]] Status check_writable() const;
  [[nodiscard]] Status check_bitmaps() const;
  [[nodiscard]] Status check_overlaps() const;
  [[nodiscard]] Table make_table(std::uint32_t group) const;

  Target& target_;
  Superblock super_;
  Descriptors descriptors_{super_};
  std::vector<Table> tables_;
  bool super_changed_ = false;
  bool copies_ = false;
  std::mutex mutex_;  // guards descriptors_ and tables_[].zeroed
};

}  // namespace e4r::lazyinit
