// SPDX-License-Identifier: GPL-2.0-or-later
// Shows what happens to writers that compete for a group when the searches of each inode begin in a
// different group (docs/studies/contention.md).
#include "allocator/policy.h"
#include "allocator/rungs.h"

namespace e4r::allocator::policies_of_files {
namespace {

// No recording of such a kernel exists; its code was run on the requests of other recordings.
constexpr std::string_view kSpreadCode =
    "Linux 7.3.4 with that patch: 670,112 decisions of the bundled captures";

}  // namespace

extern const Policy spread_by_inode = {
    .name = "spread-by-inode",
    .summary =
        "7.3, but searches begin after the goal's group, at a distance given by the inode's number",
    .source = "kernel/lab/experiments/spread-by-inode.patch",
    .ladder = kBestAvailLadder,
    .kernel = kLinux7_3ByInode,
    .verified = kSpreadCode,
    .code = kSpreadCode,
};

}  // namespace e4r::allocator::policies_of_files
