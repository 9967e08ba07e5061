// SPDX-License-Identifier: GPL-2.0-or-later
// Linux 7.3 with one change: after best-avail has trimmed the goal of a group preallocation, the
// full goal is restored (kernel/results/upgrade.md).
#include "allocator/policy.h"
#include "allocator/rungs.h"

namespace e4r::allocator::policies_of_files {

extern const Policy linux_7_3_group_goal = {
    .name = "linux-7.3-group-goal",
    .summary = "Linux 7.3, but keeps the goal of a group preallocation after best-avail",
    .source = "kernel/patches/group-goal",
    .ladder = kBestAvailLadder,
    .kernel = kLinux7_3GroupGoal,
    .verified = "Linux 7.3.4 with that patch: 773,676 decisions of one writer",
    .code = "Linux 7.3.4 with that patch: 670,276 decisions of the bundled captures",
};

}  // namespace e4r::allocator::policies_of_files
