/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * take-inodes IMAGE COUNT: removes COUNT unused inodes from the end of every
 * group of an ext4 file system, so that the inodes of a group no longer fill
 * whole blocks of their table. With COUNT 0 it removes none, but marks no inode
 * of group 0 as unused.
 */
#include <error.h>
#include <ext2fs/ext2fs.h>
#include <stdlib.h>

static void must(errcode_t code, const char* what) {
  if (code) error(1, 0, "%s: %s", what, error_message(code));
}

int main(int argc, char** argv) {
  ext2_filsys fs;
  unsigned take;
  dgrp_t group;

  if (argc != 3) error(2, 0, "usage: take-inodes IMAGE COUNT");
  take = (unsigned)strtoul(argv[2], NULL, 10);
  initialize_ext2_error_table();
  must(ext2fs_open(argv[1], EXT2_FLAG_RW | EXT2_FLAG_64BITS | EXT2_FLAG_IGNORE_CSUM_ERRORS, 0, 0,
                   unix_io_manager, &fs),
       argv[1]);
  if (take % 8 || take >= fs->super->s_inodes_per_group) error(2, 0, "COUNT is a multiple of 8");
  fs->super->s_inodes_per_group -= take;
  fs->super->s_inodes_count -= take * fs->group_desc_count;
  fs->super->s_free_inodes_count -= take * fs->group_desc_count;
  for (group = 0; group < fs->group_desc_count; group++) {
    __u32 unused = ext2fs_bg_itable_unused(fs, group);

    ext2fs_bg_free_inodes_count_set(fs, group, ext2fs_bg_free_inodes_count(fs, group) - take);
    ext2fs_bg_itable_unused_set(fs, group, unused > take ? unused - take : 0);
  }
  if (!take) ext2fs_bg_itable_unused_set(fs, 0, 0);
  must(ext2fs_read_bitmaps(fs), "bitmaps");
  ext2fs_mark_ib_dirty(fs);
  ext2fs_mark_super_dirty(fs);
  must(ext2fs_write_bitmaps(fs), "bitmaps");
  for (group = 0; group < fs->group_desc_count; group++) ext2fs_group_desc_csum_set(fs, group);
  must(ext2fs_close(fs), "close");
  return 0;
}
