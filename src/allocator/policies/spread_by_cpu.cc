// SPDX-License-Identifier: GPL-2.0-or-later
// Shows what happens to writers that compete for a group when the searches of each CPU begin in a
// different group (docs/studies/contention.md).
#include "allocator/policy.h"
#include "allocator/rungs.h"

namespace e4r::allocator::policies_of_files {

extern const Policy spread_by_cpu = {
    .name = "spread-by-cpu",
    .summary = "7.3 whose searches begin behind the goal's group, as far as the CPU's number says",
    .source = "docs/studies/contention.md",
    .ladder = kBestAvailLadder,
    .kernel = kLinux7_3ByCpu,
};

}  // namespace e4r::allocator::policies_of_files
