// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "lazyinit/tables.h"
#include "lazyinit/target.h"
#include "util/status.h"

namespace e4r::lazyinit {

// With metadata_csum, each block of the orphan file (feature orphan_file) has a checksum. tune2fs
// up to 1.47.0 leaves these checksums as they are when it sets or drops metadata_csum. The kernel
// then refuses to mount ("orphan file block 0: bad checksum", ext4_init_orphan_info()), and e2fsck
// calls the blocks not clean.

// Refuses if renew_orphan_checksums() would refuse a block. Call it before anything is written. A
// file system without an orphan file passes.
[[nodiscard]] Status orphan_file_readable(Target& target);

// Gives each block of the orphan file the checksum that the features ask for, or clears it; then
// syncs. Refuses blocks that do not look like an orphan file.
[[nodiscard]] Status renew_orphan_checksums(Target& target);

// Refuses a file system that was not checked since its last mount (s_lastcheck < s_mtime), as
// tune2fs does. Trusting bitmaps requires such a check.
[[nodiscard]] Status freshly_checked(Target& target);

// Refuses if record_unused() would refuse an inode bitmap, with the same Error. Call it before
// anything is written. A file system without descriptor checksums has no flags, whatever its
// descriptors hold.
[[nodiscard]] Status inode_bitmaps_agree(Target& target);

// Turns on uninit_bg. First every descriptor gets a valid checksum, with no flag set and no inode
// counted as unused. Then all superblocks get the feature. The file system is consistent at every
// instant, since nobody looks at a checksum without the feature. Does nothing to a file system that
// has descriptor checksums.
[[nodiscard]] Status add_group_checksums(Target& target);

// tune2fs flags every table ITABLE_ZEROED when it turns on checksums, and counts no inode as
// unused. e2fsck then finds unused inodes, and deleted inodes among them. So read_zeroed_flags()
// says before tune2fs which groups are flagged (no group is, without group checksums).
[[nodiscard]] Result<std::vector<bool>> read_zeroed_flags(Target& target);
// After tune2fs, takes the flag from all other groups, durably, in the copies of their descriptors
// too. The file system may be unclean, since tune2fs may ask for e2fsck.
[[nodiscard]] Status keep_flags(Target& target, const std::vector<bool>& flagged);
// Whether tune2fs has asked for e2fsck.
[[nodiscard]] Result<bool> unclean(Target& target);

struct Enabled {
  std::uint64_t inode_uninit = 0;   // groups that have the flag now
  std::uint64_t unused_inodes = 0;  // counted as never used, in all groups
  std::uint64_t zeroed = 0;         // groups with ITABLE_ZEROED
  std::uint64_t to_zero = 0;        // bytes of table that are left to zero
};

// Derives INODE_UNINIT and bg_itable_unused of every group from its inode bitmap: the inodes behind
// the last used or reserved one are unused. Takes ITABLE_ZEROED from groups whose unused part
// grows, since deleted inodes lie there. With `probe`, sets it for groups that read as zeros. Keeps
// BLOCK_UNINIT. The file system needs descriptor checksums.
//
// Refuses a bitmap with a wrong checksum, or with another number of free inodes than its
// descriptor. Nothing has been written then. inode_bitmaps_agree() says so beforehand.
[[nodiscard]] Result<Enabled> record_unused(Target& target, bool probe);

// Refuses unless write_out_groups() can read every bitmap. Call it before anything is written.
[[nodiscard]] Status bitmaps_readable(Target& target);

// The steps that take lazy initialisation out of a file system, in this order. The file system is
// consistent between any two steps, and after a crash within one. Before the first step, every
// unused part of a table must be zero (zero_tables()) and every flag true (verify_tables()).

// Zeroes the never-used inodes that share a block with the last used inode. The kernel and
// zero_tables() do not touch them, but whoever reads the whole block would take them for real.
// Writes whole blocks. Returns the number of groups that had something to zero.
[[nodiscard]] Result<std::uint64_t> zero_slack(Target& target, const Tables& tables);

// Writes the bitmaps of groups that have no bitmap on disk (INODE_UNINIT, BLOCK_UNINIT). Then
// clears these flags and bg_itable_unused everywhere and renews the checksums, also in the copies
// of the descriptors.
[[nodiscard]] Status write_out_groups(Target& target);

// Takes uninit_bg out of the superblocks, then flags and checksums out of the descriptors.
[[nodiscard]] Status drop_group_checksums(Target& target);

}  // namespace e4r::lazyinit
