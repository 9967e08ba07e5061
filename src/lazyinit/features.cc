// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/features.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "lazyinit/ext4_tables.h"
#include "lazyinit/target_io.h"
#include "lazyinit/verify.h"
#include "util/bytes.h"

namespace e4r::lazyinit {
namespace {

class OrphanFile {
 public:
  OrphanFile(Target& target, const Ext2OverTarget& over, bool write)
      : target_(target), over_(over), fs_(over.fs()), write_(write), block_(fs_->blocksize) {}

  Status walk() {
    if (!ext2fs_has_feature_orphan_file(fs_->super)) return {};
    number_ = fs_->super->s_orphan_file_inum;
    ext2_inode inode = {};
    errcode_t code = ext2fs_read_inode(fs_, number_, &inode);
    generation_ = inode.i_generation;
    if (code == 0)
      code = ext2fs_block_iterate3(fs_, number_, BLOCK_FLAG_DATA_ONLY | BLOCK_FLAG_READ_ONLY,
                                   nullptr, &OrphanFile::each, this);
    if (is_foreign_)
      return error("{}: its orphan file, inode {}, is damaged: run e2fsck -f {}", target_.path(),
                   number_, target_.path());
    return over_.check(code != 0 ? code : code_, "read the orphan file, or give it checksums");
  }

 private:
  // The accepted size of an orphan file. mke2fs makes at most 512 blocks.
  static constexpr e2_blkcnt_t kMostBlocks = 1 << 16;

  static int each(ext2_filsys, blk64_t* block, e2_blkcnt_t index, blk64_t, int, void* self) {
    auto& file = *static_cast<OrphanFile*>(self);
    if (index >= kMostBlocks) file.is_foreign_ = true;
    if (!file.is_foreign_) file.code_ = file.see(*block);
    return file.is_foreign_ || file.code_ != 0 ? BLOCK_ABORT : 0;
  }

  // The checksum for this block, whose content is in block_; 0 without metadata_csum.
  // ext2fs_do_orphan_file_block_csum() of libext2fs 1.47.0 is not used, because it returns the
  // value in on-disk byte order, and later versions may return it in another order.
  [[nodiscard]] std::uint32_t checksum(std::uint64_t block) const {
    if (!ext2fs_has_feature_metadata_csum(fs_->super)) return 0;
    std::uint32_t crc = fs_->csum_seed;
    const auto add = [&crc](auto value) {
      const auto stored = to_le(value);
      crc = crc32c(crc, std::as_bytes(std::span(&stored, 1)));
    };
    add(std::uint32_t{number_});
    add(generation_);
    add(block);
    const auto entries = std::as_bytes(std::span(block_));
    return crc32c(crc, entries.first(entries.size() - sizeof(ext4_orphan_block_tail)));
  }

  errcode_t see(blk64_t block) {
    is_foreign_ = block >= ext2fs_blocks_count(fs_->super);
    if (is_foreign_) return 0;
    if (const errcode_t code = io_channel_read_blk64(fs_->io, block, 1, block_.data())) return code;
    ext4_orphan_block_tail* tail = ext2fs_orphan_block_tail(fs_, block_.data());
    is_foreign_ = from_le(tail->ob_magic) != EXT4_ORPHAN_BLOCK_MAGIC;
    const std::uint32_t right = checksum(block);
    if (is_foreign_ || !write_ || from_le(tail->ob_checksum) == right) return 0;
    tail->ob_checksum = to_le(right);
    return io_channel_write_blk64(fs_->io, block, 1, block_.data());
  }

  Target& target_;
  const Ext2OverTarget& over_;
  ext2_filsys fs_;
  bool write_;
  std::vector<char> block_;
  ext2_ino_t number_ = 0;
  std::uint32_t generation_ = 0;
  errcode_t code_ = 0;
  bool is_foreign_ = false;
};

}  // namespace

Status orphan_file_readable(Target& target) {
  E4R_TRY(const auto over, Ext2OverTarget::open(target));
  return OrphanFile(target, *over, false).walk();
}

Status renew_orphan_checksums(Target& target) {
  E4R_TRY(const auto over, Ext2OverTarget::open(target));
  E4R_CHECK(OrphanFile(target, *over, true).walk());
  return target.sync();
}

namespace {

struct Use {
  std::uint32_t used = 0;  // inodes in use
  std::uint32_t last = 0;  // 1-based number of the last used inode; 0 if no inode is used
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

// The new flags and the new unused count of one group.
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
    const std::uint32_t last = std::max(use.last, count_reserved(group));
    Change change{d.flags, inodes - last};
    change.flags &= static_cast<std::uint16_t>(~EXT2_BG_INODE_UNINIT);
    if (last == 0) change.flags |= EXT2_BG_INODE_UNINIT;
    if (change.unused > d.itable_unused)
      change.flags &= static_cast<std::uint16_t>(~EXT2_BG_INODE_ZEROED);
    return change;
  }

 private:
  // The number of the group's inodes that the file system reserves.
  [[nodiscard]] std::uint32_t count_reserved(std::uint32_t group) const {
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
  Ext4Tables& tables_;  // opened for writing, which checks that bitmaps lie inside the file system
  std::vector<std::byte> bitmap_;
};

// Computes the changes of all groups.
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

Result<std::vector<bool>> read_zeroed_flags(Target& target) {
  E4R_TRY(const auto tables, Ext4Tables::open(target, Target::Access::read));
  std::vector<bool> flagged;
  for (const Table& table : tables->tables()) flagged.push_back(table.zeroed);
  return flagged;
}

Status keep_flags(Target& target, const std::vector<bool>& flagged) {
  E4R_TRY(const auto tables, Ext4Tables::open(target, Target::Access::read));
  std::vector<std::uint32_t> others;
  for (const Table& table : tables->tables())
    if (!flagged[table.group]) others.push_back(table.group);
  return retract(target, *tables, others);
}

Result<bool> needs_check(Target& target) {
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

Status bitmaps_readable(Target& target) {
  E4R_TRY(const auto over, Ext2OverTarget::open(target));
  return over->check(ext2fs_read_bitmaps(over->fs()), "read the bitmaps");
}

Result<std::uint64_t> zero_slack(Target& target, const Tables& tables) {
  std::uint64_t changed = 0;
  std::vector<std::byte> block(tables.block_size());
  for (const Table& table : tables.tables()) {
    if (table.inode_uninit || table.unused == 0) continue;
    const std::uint64_t used =
        std::uint64_t{tables.inodes_per_group() - table.unused} * tables.inode_size();
    const std::uint64_t in_block = used % block.size();
    if (in_block == 0) continue;
    const std::uint64_t at = table.whole.offset + used - in_block;
    E4R_CHECK(target.read(at, block));
    const auto slack = std::span(block).subspan(in_block);
    if (all_zero(slack)) continue;
    std::fill(slack.begin(), slack.end(), std::byte{0});
    E4R_CHECK(target.write(at, block));
    ++changed;
  }
  if (changed != 0) E4R_CHECK(target.sync());
  return changed;
}

Status write_out_groups(Target& target) {
  E4R_TRY(const auto over, Ext2OverTarget::open(target));
  ext2_filsys fs = over->fs();
  E4R_CHECK(over->check(ext2fs_read_bitmaps(fs), "read the bitmaps"));
  for (dgrp_t group = 0; group < fs->group_desc_count; ++group) {
    ext2fs_bg_flags_clear(fs, group, EXT2_BG_INODE_UNINIT | EXT2_BG_BLOCK_UNINIT);
    ext2fs_bg_itable_unused_set(fs, group, 0);
  }
  ext2fs_mark_ib_dirty(fs);
  ext2fs_mark_bb_dirty(fs);
  E4R_CHECK(over->check(ext2fs_write_bitmaps(fs), "write the bitmaps"));
  E4R_CHECK(target.sync());
  for (dgrp_t group = 0; group < fs->group_desc_count; ++group)
    ext2fs_group_desc_csum_set(fs, group);
  return over->flush_all();
}

Status drop_group_checksums(Target& target) {
  E4R_TRY(const auto over, Ext2OverTarget::open(target));
  ext2_filsys fs = over->fs();
  if (ext2fs_has_feature_metadata_csum(fs->super))
    return error("{}: has metadata_csum: tune2fs -O ^metadata_csum comes first", target.path());
  ext2fs_clear_feature_gdt_csum(fs->super);
  E4R_CHECK(over->flush_superblocks());
  for (dgrp_t group = 0; group < fs->group_desc_count; ++group) {
    ext2fs_bg_flags_zap(fs, group);
    ext2fs_bg_itable_unused_set(fs, group, 0);
    ext2fs_bg_checksum_set(fs, group, 0);
  }
  return over->flush_all();
}

}  // namespace e4r::lazyinit
