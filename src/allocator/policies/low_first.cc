// SPDX-License-Identifier: GPL-2.0-or-later
// The contrary of rotalloc: what is free in low groups is used again before anything else is
// touched. A file's own goal is tried where it is.
#include "allocator/policy.h"
#include "allocator/rungs.h"

namespace e4r::allocator::policies_of_files {

extern const Policy low_first = {
    .name = "low-first",
    .summary =
        "7.3 whose searches all begin in group 0, so that low addresses are used again first",
    .source = "docs/studies/rotalloc.md",
    .ladder = kBestAvailLadder,
    .kernel = kLinux7_3LowFirst,
};

}  // namespace e4r::allocator::policies_of_files
