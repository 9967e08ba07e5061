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
// reports that the blocks are not clean.

// Refuses if renew_orphan_checksums() would refuse a block. Call it before anything is written.
// Returns no Error for a file system without an orphan file.
[[nodiscard]] Status orphan_file_readable(Target& target);

// Sets the checksum of each block of the orphan file if the features require one, and clears it
// otherwise. Then syncs. Refuses blocks that do not look like an orphan file.
[[nodiscard]] Status renew_orphan_checksums(Target& target);

// Refuses a file system that was not checked since its last mount (s_lastcheck < s_mtime), as
// tune2fs does. Without such a check the bitmaps cannot be trusted.
[[nodiscard]] Status freshly_checked(Target& target);

// Refuses if record_unused() would refuse an inode bitmap, with the same Error. Call it before
// anything is written. In a file system without descriptor checksums, flags in descriptors are
// ignored.
[[nodiscard]] Status inode_bitmaps_agree(Target& target);

// Turns on uninit_bg. First every descriptor gets a valid checksum, with no flag set and no inode
// counted as unused. Then all superblocks get the feature. The file system is consistent at every
// instant, because checksums are ignored until the feature is set. Does nothing to a file system
// that has descriptor checksums.
[[nodiscard]] Status add_group_checksums(Target& target);

// Returns for each group whether it is flagged ITABLE_ZEROED. Without group checksums, all values
// are false. Must be called before tune2fs turns on checksums, because tune2fs then flags every
// table and counts no inode as unused. When e2fsck later counts inodes as unused, some of them are
// deleted inodes and not zeros, so those flags are then wrong.
[[nodiscard]] Result<std::vector<bool>> read_zeroed_flags(Target& target);
// Must be called after tune2fs. Clears ITABLE_ZEROED of all groups that are not in `flagged`, also
// in the copies of their descriptors, and makes that durable. Accepts an unclean file system,
// because tune2fs may have asked for e2fsck.
[[nodiscard]] Status keep_flags(Target& target, const std::vector<bool>& flagged);
// Whether tune2fs has asked for e2fsck.
[[nodiscard]] Result<bool> needs_check(Target& target);

struct Enabled {
  std::uint64_t inode_uninit = 0;   // groups that have INODE_UNINIT now
  std::uint64_t unused_inodes = 0;  // inodes counted as never used, in all groups
  std::uint64_t zeroed = 0;         // groups with ITABLE_ZEROED
  std::uint64_t to_zero = 0;        // bytes of tables that are left to be zeroed
};

// Derives INODE_UNINIT and bg_itable_unused of every group from its inode bitmap: the inodes after
// the last used or reserved one are unused. Clears ITABLE_ZEROED of groups whose unused part grows,
// because the added part contains deleted inodes. With `probe`, sets ITABLE_ZEROED for groups whose
// unused part reads as zeros. Keeps BLOCK_UNINIT. The file system needs descriptor checksums.
//
// Refuses a bitmap that has a wrong checksum, or whose number of free inodes differs from the
// number in the descriptor. In that case nothing has been written. inode_bitmaps_agree() makes the
// same check in advance.
[[nodiscard]] Result<Enabled> record_unused(Target& target, bool probe);

// Refuses unless write_out_groups() can read every bitmap. Call it before anything is written.
[[nodiscard]] Status bitmaps_readable(Target& target);

// The steps that remove lazy initialisation from a file system, in this order. The file system is
// consistent between any two steps, and after a crash within one. Before the first step, every
// unused part of a table must be zero (zero_tables()), and every ITABLE_ZEROED flag must be correct
// (verify_tables()).

// Zeroes the never-used inodes that share a block with the last used inode. The kernel and
// zero_tables() do not touch them, but a program that reads the whole block would take them for
// inodes in use. Writes whole blocks. Returns the number of groups in which something was zeroed.
[[nodiscard]] Result<std::uint64_t> zero_slack(Target& target, const Tables& tables);

// Writes the bitmaps of groups that have no bitmap on disk (INODE_UNINIT, BLOCK_UNINIT). Then
// clears these flags and bg_itable_unused everywhere and renews the checksums, also in the copies
// of the descriptors.
[[nodiscard]] Status write_out_groups(Target& target);

// Removes uninit_bg from the superblocks, then flags and checksums from the descriptors.
[[nodiscard]] Status drop_group_checksums(Target& target);

}  // namespace e4r::lazyinit
