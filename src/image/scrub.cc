// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/scrub.h"

#include <cstring>

#include "image/ext2_handle.h"

namespace e4r::image {
namespace {

template <class T>
void wipe(T& field) {
  std::memset(&field, 0, sizeof field);
}

void scrub_superblock(ext2_super_block& super) {
  wipe(super.s_volume_name);
  wipe(super.s_last_mounted);
  wipe(super.s_mount_opts);
  wipe(super.s_hash_seed);
  wipe(super.s_journal_uuid);
  std::memset(super.s_uuid, 0x11, sizeof super.s_uuid);
  super.s_mtime = super.s_wtime = super.s_mkfs_time = super.s_lastcheck = 0;
  super.s_mtime_hi = super.s_wtime_hi = super.s_mkfs_time_hi = super.s_lastcheck_hi = 0;
  super.s_first_error_time = super.s_last_error_time = 0;
  super.s_first_error_time_hi = super.s_last_error_time_hi = 0;
  super.s_first_error_ino = super.s_last_error_ino = 0;
  super.s_first_error_block = super.s_last_error_block = 0;
  wipe(super.s_first_error_func);
  wipe(super.s_last_error_func);
}

}  // namespace

Status scrub(const std::string& path) {
  return change_ext2(path, "the start image", [](ext2_filsys fs) -> errcode_t {
    if (ext2fs_has_feature_metadata_csum(fs->super) && !ext2fs_has_feature_csum_seed(fs->super)) {
      fs->super->s_checksum_seed = fs->csum_seed;
      ext2fs_set_feature_csum_seed(fs->super);
    }
    scrub_superblock(*fs->super);
    for (dgrp_t group = 0; group < fs->group_desc_count; ++group)
      ext2fs_group_desc_csum_set(fs, group);
    ext2fs_mark_super_dirty(fs);
    fs->flags &= ~EXT2_FLAG_SUPER_ONLY;
    fs->flags |= EXT2_FLAG_MASTER_SB_ONLY;
    return 0;
  });
}

}  // namespace e4r::image
