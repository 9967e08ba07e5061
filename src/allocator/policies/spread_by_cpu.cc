// SPDX-License-Identifier: GPL-2.0-or-later
// What becomes of writers that meet in the same group if the searches of each CPU begin elsewhere
// (docs/studies/contention.md).
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
