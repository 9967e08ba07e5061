// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/enable.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "lazyinit/ext2_over_target.h"
#include "lazyinit/ext4_tables.h"
#include "lazyinit/inventory.h"

namespace e4r::lazyinit {
namespace {

struct Use {
  std::uint32_t used = 0;  // inodes in use
  std::uint32_t last = 0;  // the last used inode, counted from 1; 0 if no inode is used
};

Use count_use(std::span<const std::byte> bitmap, std::uint32_t inodes) {
  Use use;
  for (std::uint32_t i = 0; i < inodes; i += 8) {
    auto bits = std::to_integer<unsigned>(bitmap[i / 8]);
    if (inodes - i < 8) bits &= (1u << (inodes - i)) - 1;
    if (bits == 0) continue;
    use.used += static_cast<std::uint32_t>(std::popcount(bits));
    use.last = i + static_cast<std::uint32_t>(std::bit_width(bits));
  }
  return use;
}

// The new flags and count of one group.
struct Change {
  std::uint16_t flags = 0;
  std::uint32_t unused = 0;
};

class Recorder {
 public:
  Recorder(Target& target, Ext4Tables& tables) : target_(target), tables_(tables) {}

  Result<Change> work_out(std::uint32_t group) {
    const Descriptor d = tables_.descriptor(group);
    E4R_TRY(const Use use, read_use(group, d));
    const std::uint32_t inodes = tables_.inodes_per_group();
    if (use.used != inodes - d.free_inodes)
      return error(
          "{}: group {}: {} inodes in use by its bitmap, {} by its descriptor: run "
          "e2fsck -f {}",
          target_.path(), group, use.used, inodes - d.free_inodes, target_.path());
    const std::uint32_t last = std::max(use.last, reserved_in(group));
    Change change{d.flags, inodes - last};
    change.flags &= static_cast<std::uint16_t>(~EXT2_BG_INODE_UNINIT);
    if (last == 0) change.flags |= EXT2_BG_INODE_UNINIT;
    if (change.unused > d.itable_unused)
      change.flags &= static_cast<std::uint16_t>(~EXT2_BG_INODE_ZEROED);
    return change;
  }

 private:
  // Inodes of the group that are the file system's own.
  [[nodiscard]] std::uint32_t reserved_in(std::uint32_t group) const {
    const ext2_super_block& raw = tables_.super().raw;
    const std::uint64_t reserved = EXT2_FIRST_INODE(&raw) - 1;
    const std::uint64_t before = std::uint64_t{group} * raw.s_inodes_per_group;
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(reserved - std::min(reserved, before), raw.s_inodes_per_group));
  }

  Result<Use> read_use(std::uint32_t group, const Descriptor& d) {
    if (tables_.has_group_checksums() && (d.flags & EXT2_BG_INODE_UNINIT) != 0) return Use{};
    const Superblock& super = tables_.super();
    const std::uint32_t inodes = tables_.inodes_per_group();
    bitmap_.resize((inodes + 7) / 8);
    E4R_CHECK(target_.read(d.inode_bitmap * super.block_size(), bitmap_));
    if (!super.inode_bitmap_checksum_ok(bitmap_, d.inode_bitmap_checksum))
      return error("{}: group {}: its inode bitmap has a wrong checksum: run e2fsck -f {}",
                   target_.path(), group, target_.path());
    return count_use(bitmap_, inodes);
  }

  Target& target_;
  Ext4Tables& tables_;  // open for writing, so that bitmaps lie inside of the file system
  std::vector<std::byte> bitmap_;
};

// The changes of all groups.
Result<std::vector<Change>> work_out_all(Target& target, Ext4Tables& tables) {
  Recorder recorder(target, tables);
  std::vector<Change> changes;
  for (const Table& table : tables.tables()) {
    E4R_TRY(const Change change, recorder.work_out(table.group));
    changes.push_back(change);
  }
  return changes;
}

// Flags tables that read as zeros. Another process may have written the zeros, so they are synced
// first.
Status flag_zeros(Target& target, Ext4Tables& tables) {
  std::vector<std::uint32_t> zero;
  for (const Table& table : tables.tables()) {
    if (table.zeroed) continue;
    E4R_TRY(const Probed probed, target.probe(table.unused_part.offset, table.unused_part.length));
    if (probed.content == Content::zeros) zero.push_back(table.group);
  }
  E4R_CHECK(target.sync());
  for (const std::uint32_t group : zero) tables.set_zeroed(group, true);
  return {};
}

Enabled sum_up(const Ext4Tables& tables) {
  const Inventory i = take_inventory(tables.tables());
  return {i.inode_uninit, i.unused_inodes, i.zeroed, i.bytes_to_do};
}

}  // namespace

Status freshly_checked(Target& target) {
  E4R_TRY(const Superblock super, Superblock::read(target));
  if (super.raw.s_lastcheck >= super.raw.s_mtime) return {};
  return error("{}: has been mounted since it was last checked: run e2fsck -f {} first",
               target.path(), target.path());
}

Status inode_bitmaps_agree(Target& target) {
  E4R_TRY(const auto tables, Ext4Tables::open(target, Target::Access::write));
  E4R_TRY([[maybe_unused]] const auto changes, work_out_all(target, *tables));
  return {};
}

Status add_group_checksums(Target& target) {
  {
    E4R_TRY(const auto tables, Ext4Tables::open(target, Target::Access::write));
    if (tables->has_group_checksums()) return {};
  }
  E4R_TRY(const auto over, Ext2OverTarget::open(target));
  ext2_filsys fs = over->fs();
  ext2fs_set_feature_gdt_csum(fs->super);
  for (dgrp_t group = 0; group < fs->group_desc_count; ++group) {
    ext2fs_bg_flags_zap(fs, group);
    ext2fs_bg_itable_unused_set(fs, group, 0);
    ext2fs_group_desc_csum_set(fs, group);
  }
  return over->flush_all();
}

Result<std::vector<bool>> flagged_zeroed(Target& target) {
  E4R_TRY(const auto tables, Ext4Tables::open(target, Target::Access::read));
  std::vector<bool> flagged;
  for (const Table& table : tables->tables()) flagged.push_back(table.zeroed);
  return flagged;
}

Status keep_flags(Target& target, const std::vector<bool>& flagged) {
  E4R_TRY(const auto tables, Ext4Tables::open(target, Target::Access::read));
  for (const Table& table : tables->tables())
    if (!flagged[table.group]) tables->set_zeroed(table.group, false);
  E4R_CHECK(tables->flush());
  return target.sync();
}

Result<bool> unclean(Target& target) {
  E4R_TRY(const Superblock super, Superblock::read(target));
  return (super.raw.s_state & EXT2_VALID_FS) == 0;
}

Result<Enabled> record_unused(Target& target, bool probe) {
  E4R_TRY(const auto tables, Ext4Tables::open(target, Target::Access::write));
  if (!tables->has_group_checksums())
    return error("{}: has no group checksums: add them first", target.path());
  E4R_TRY(const auto changes, work_out_all(target, *tables));
  for (std::uint32_t group = 0; group < changes.size(); ++group)
    tables->set_group(group, changes[group].flags, changes[group].unused);
  if (probe) E4R_CHECK(flag_zeros(target, *tables));
  E4R_CHECK(tables->flush());
  E4R_CHECK(target.sync());
  return sum_up(*tables);
}

}  // namespace e4r::lazyinit
