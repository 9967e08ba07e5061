// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// Internal to src/lazyinit: what Tables::open() makes, with what enable and disable need besides.
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lazyinit/descriptors.h"
#include "lazyinit/superblock.h"
#include "lazyinit/tables.h"

namespace e4r::lazyinit {

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
  [[nodiscard]] std::string mount_options() const override;
  [[nodiscard]] Status set_mount_options(const std::string& text) override;

  [[nodiscard]] const Superblock& super() const { return super_; }
  [[nodiscard]] Descriptor descriptor(std::uint32_t group) const { return descriptors_.get(group); }
  // Where the tables lie, the bitmaps, and the superblock and the descriptors with their copies.
  [[nodiscard]] std::vector<ByteRange> metadata() const;
  // Changes memory only: flags (EXT2_BG_*) and unused inodes of a group.
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
  std::mutex mutex_;  // descriptors_, tables_[].zeroed
};

}  // namespace e4r::lazyinit
