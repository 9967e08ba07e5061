// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

#include "lazyinit/tables.h"
#include "lazyinit/target.h"
#include "util/status.h"

namespace e4r::lazyinit {

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
