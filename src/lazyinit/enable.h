// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "lazyinit/target.h"
#include "util/status.h"

namespace e4r::lazyinit {

// Trusting bitmaps, or rewriting what hangs on them, asks for a check since the last mount: an
// Error when there was none (s_lastcheck < s_mtime; tune2fs asks for the same).
[[nodiscard]] Status freshly_checked(Target& target);

// Whether record_unused() will take every inode bitmap, before anything is written for it: the
// Error that it would give if not. A file system without descriptor checksums has no flags,
// whatever its descriptors hold.
[[nodiscard]] Status inode_bitmaps_agree(Target& target);

// Turns on uninit_bg: valid checksums in every descriptor, no flag set, nothing counted as unused;
// then the feature in all superblocks. Consistent at every instant: a checksum without the feature
// is not looked at. Nothing is done to a file system that has descriptor checksums.
[[nodiscard]] Status add_group_checksums(Target& target);

// tune2fs flags every table ITABLE_ZEROED when it turns on checksums, and counts no inode as
// unused; e2fsck then finds unused ones, and with them inodes that were deleted. So: which groups
// are flagged before (all false without group checksums), ...
[[nodiscard]] Result<std::vector<bool>> flagged_zeroed(Target& target);
// ... and afterwards no other group keeps the flag. Durable. The file system may be one that is not
// clean, since tune2fs may ask for e2fsck ...
[[nodiscard]] Status keep_flags(Target& target, const std::vector<bool>& flagged);
// ... as this tells.
[[nodiscard]] Result<bool> unclean(Target& target);

struct Enabled {
  std::uint64_t inode_uninit = 0;   // groups that have the flag now
  std::uint64_t unused_inodes = 0;  // counted as never used, in all groups
  std::uint64_t zeroed = 0;         // groups with ITABLE_ZEROED
  std::uint64_t to_zero = 0;        // bytes of table that are left to zero
};

// Works INODE_UNINIT and bg_itable_unused of every group out of its inode bitmap: unused is what
// lies behind the last inode in use, reserved inodes being in use. ITABLE_ZEROED is taken from
// groups whose unused part grows, since deleted inodes lie there; with `probe` it is given to
// those that read as zeros. BLOCK_UNINIT stays. The file system needs descriptor checksums.
//
// Refuses a bitmap whose checksum is wrong or that has another number of free inodes than the
// descriptor. Until then nothing has been written; inode_bitmaps_agree() says so beforehand.
[[nodiscard]] Result<Enabled> record_unused(Target& target, bool probe);

}  // namespace e4r::lazyinit
