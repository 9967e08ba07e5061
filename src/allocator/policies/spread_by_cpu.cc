// SPDX-License-Identifier: GPL-2.0-or-later
// Shows what happens to writers that compete for a group when the searches of each CPU begin in a
// different group (docs/studies/contention.md).
#include "allocator/policy.h"
#include "allocator/rungs.h"

namespace e4r::allocator::policies_of_files {

extern const Policy spread_by_cpu = {
    .name = "spread-by-cpu",
    .summary =
        "7.3, but searches begin after the goal's group, at a distance given by the CPU's number",
    .source = "docs/studies/contention.md",
    .ladder = kBestAvailLadder,
    .kernel = kLinux7_3ByCpu,
};

}  // namespace e4r::allocator::policies_of_files
