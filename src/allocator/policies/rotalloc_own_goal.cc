// SPDX-License-Identifier: GPL-2.0-or-later
// rotalloc without its penalty for growing files: the block after a file's last one is tried first,
// wherever the cursor is. Only the search that follows begins at the cursor.
#include "allocator/policy.h"
#include "allocator/rungs.h"

namespace e4r::allocator::policies_of_files {
namespace {

// The patch is kernel/lab/experiments/rotalloc-own-goal.patch. No recording of such a kernel
// exists.
constexpr std::string_view kOwnGoalCode =
    "Linux 7.3.4 with a patch of its own: 668,646 decisions of the bundled captures";

}  // namespace

extern const Policy rotalloc_own_goal = {
    .name = "rotalloc-own-goal",
    .summary = "rotalloc, but tries a file's own goal before it rotates",
    .source = "docs/studies/rotalloc.md, after the review of rotalloc",
    .ladder = kBestAvailLadder,
    .kernel = kLinux7_3RotallocBehindGoal,
    .verified = kOwnGoalCode,
    .code = kOwnGoalCode,
};

}  // namespace e4r::allocator::policies_of_files
