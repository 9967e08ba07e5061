// SPDX-License-Identifier: GPL-2.0-or-later
// The opposite of rotalloc: uses free space in low groups first. A file's own goal is still tried
// first, at its own place.
#include "allocator/policy.h"
#include "allocator/rungs.h"

namespace e4r::allocator::policies_of_files {

extern const Policy low_first = {
    .name = "low-first",
    .summary = "7.3, but all searches begin in group 0, so that low addresses are reused first",
    .source = "docs/studies/rotalloc.md",
    .ladder = kBestAvailLadder,
    .kernel = kLinux7_3LowFirst,
};

}  // namespace e4r::allocator::policies_of_files
