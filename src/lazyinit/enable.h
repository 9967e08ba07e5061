// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "lazyinit/target.h"
#include "util/status.h"

namespace e4r::lazyinit {

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
// unused. e2fsck then finds unused inodes, and deleted inodes among them. So flagged_zeroed() says
// before tune2fs which groups are flagged (no group is, without group checksums).
[[nodiscard]] Result<std::vector<bool>> flagged_zeroed(Target& target);
// After tune2fs, takes the flag from all other groups, durably. The file system may be unclean,
// since tune2fs may ask for e2fsck.
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

}  // namespace e4r::lazyinit
