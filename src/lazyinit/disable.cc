// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/disable.h"

#include <algorithm>
#include <vector>

#include "lazyinit/ext2_over_target.h"
#include "util/zeros.h"

namespace e4r::lazyinit {
Status bitmaps_readable(Target& target) {
  E4R_TRY(const auto over, Ext2OverTarget::open(target));
  return over->checked(ext2fs_read_bitmaps(over->fs()), "read the bitmaps");
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
  E4R_CHECK(target.sync());
  return changed;
}

Status write_out_groups(Target& target) {
  E4R_TRY(const auto over, Ext2OverTarget::open(target));
  ext2_filsys fs = over->fs();
  E4R_CHECK(over->checked(ext2fs_read_bitmaps(fs), "read the bitmaps"));
  for (dgrp_t group = 0; group < fs->group_desc_count; ++group) {
    ext2fs_bg_flags_clear(fs, group, EXT2_BG_INODE_UNINIT | EXT2_BG_BLOCK_UNINIT);
    ext2fs_bg_itable_unused_set(fs, group, 0);
  }
  ext2fs_mark_ib_dirty(fs);
  ext2fs_mark_bb_dirty(fs);
  E4R_CHECK(over->checked(ext2fs_write_bitmaps(fs), "write the bitmaps"));
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
