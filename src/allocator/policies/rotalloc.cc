// SPDX-License-Identifier: GPL-2.0-or-later
// The first posting of the mount option rotalloc: every search, and the goal that is tried before
// it, is for the group in which the last one ended. The later ones, named rralloc (25 February
// 2026 and after), have a cursor for each CPU and each inode and take any free extent at once;
// these are not here.
#include "allocator/policy.h"
#include "allocator/rungs.h"

namespace e4r::allocator::policies_of_files {

extern const Policy rotalloc = {
    .name = "rotalloc",
    .summary = "7.3, every goal and search moved to the group where the last one ended",
    .source =
        "linux-ext4, 4 February 2026: \"ext4: add optional rotating block allocation policy\", "
        "from reading",
    .ladder = kBestAvailLadder,
    .kernel = kLinux7_3Rotalloc,
};

}  // namespace e4r::allocator::policies_of_files
