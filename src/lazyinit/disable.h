// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

#include "lazyinit/tables.h"
#include "lazyinit/target.h"
#include "util/status.h"

namespace e4r::lazyinit {

// Whether write_out_groups() will be able to read every bitmap: an Error if not. Comes before
// anything is written.
[[nodiscard]] Status bitmaps_readable(Target& target);

// The steps of taking lazy initialisation out of a file system, in this order; it is consistent
// between any two of them and after a crash within one. First of all every table must be zero
// where it is unused (zero_tables()) and every flag true (verify_tables()).

// Zeroes the never-used inodes that share a block with the last one in use: neither the kernel nor
// zero_tables() touches them, and whoever reads the block whole would take them for real. Whole
// blocks are written back. Returns the number of groups where there was something.
[[nodiscard]] Result<std::uint64_t> zero_slack(Target& target, const Tables& tables);

// Writes the bitmaps of groups that had none (INODE_UNINIT, BLOCK_UNINIT), then clears these flags
// and bg_itable_unused everywhere, with checksums, copies of the descriptors included.
[[nodiscard]] Status write_out_groups(Target& target);

// Takes uninit_bg out of the superblocks, then flags and checksums out of the descriptors.
[[nodiscard]] Status drop_group_checksums(Target& target);

}  // namespace e4r::lazyinit
