// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "lazyinit/tables.h"

namespace e4r::test {

// The tables of a very simple file system. It begins with a head of kHead bytes. The tables follow,
// each of kTable bytes. Byte N of the head is 1 if the table of group N is flagged as zero. The
// first block of each table is in use.
class FakeTables : public lazyinit::Tables {
 public:
  static constexpr std::uint64_t kHead = 4096;
  static constexpr std::uint64_t kTable = 16384;
  static constexpr std::uint64_t kUsed = 4096;

  FakeTables(lazyinit::Target& target, std::uint32_t groups) : target_(target) {
    std::vector<std::byte> flags(groups);
    (void)target_.read(0, flags);
    for (std::uint32_t group = 0; group < groups; ++group) {
      const std::uint64_t at = kHead + group * kTable;
      tables_.push_back({.group = group,
                         .whole = {at, kTable},
                         .unused = 48,
                         .zeroed = flags[group] == std::byte{1},
                         .unused_part = {at + kUsed, kTable - kUsed}});
    }
  }

  void drop_checksums() { checksums_ = false; }

  [[nodiscard]] lazyinit::FileSystem file_system() const override { return {}; }
  [[nodiscard]] std::span<const lazyinit::Table> tables() const override { return tables_; }
  [[nodiscard]] std::uint32_t inode_size() const override { return 256; }
  [[nodiscard]] std::uint32_t inodes_per_group() const override { return 64; }
  [[nodiscard]] std::uint32_t block_size() const override { return 4096; }
  [[nodiscard]] bool has_group_checksums() const override { return checksums_; }
  [[nodiscard]] bool is_deleted_inode(std::uint32_t /*number*/,
                                      std::span<const std::byte> /*inode*/) const override {
    return false;
  }
  void set_zeroed(std::uint32_t group, bool zeroed) override {
    const std::lock_guard lock(mutex_);
    tables_[group].zeroed = zeroed;
  }
  [[nodiscard]] Status flush() override {
    const std::lock_guard lock(mutex_);
    std::vector<std::byte> flags;
    for (const auto& table : tables_) flags.push_back(std::byte{table.zeroed});
    return target_.write(0, flags);
  }
  void write_copies_too(bool /*too*/) override {}
  [[nodiscard]] std::string mount_options() const override { return options_; }
  [[nodiscard]] Status set_mount_options(const std::string& text) override {
    options_ = text;
    return {};
  }

 private:
  lazyinit::Target& target_;
  std::vector<lazyinit::Table> tables_;
  bool checksums_ = true;
  std::string options_;
  std::mutex mutex_;
};

}  // namespace e4r::test
