// SPDX-License-Identifier: GPL-2.0-or-later
// The first posting of the mount option rotalloc. Every search, and the goal that is tried before
// it, starts in the group in which the last search ended. Later postings, named rralloc (25
// February 2026 and after), are not modelled: they have a cursor for each CPU and each inode, and
// take any free extent at once.
#include "allocator/policy.h"
#include "allocator/rungs.h"

namespace e4r::allocator::policies_of_files {
namespace {

// No recording of such a kernel exists; its code was run on the requests of other recordings.
constexpr std::string_view kRotallocCode =
    "Linux 7.3.4 with that patch: 668,539 decisions of the bundled captures";

}  // namespace

extern const Policy rotalloc = {
    .name = "rotalloc",
    .summary = "7.3, but every goal and search moves to the group where the last one ended",
    .source =
        "linux-ext4, 4 February 2026: \"ext4: add optional rotating block allocation policy\", "
        "as kernel/patches/rotalloc",
    .ladder = kBestAvailLadder,
    .kernel = kLinux7_3Rotalloc,
    .verified = kRotallocCode,
    .code = kRotallocCode,
};

}  // namespace e4r::allocator::policies_of_files
