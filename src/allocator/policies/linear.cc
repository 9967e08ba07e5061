// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocator/policy.h"
#include "allocator/rungs.h"

namespace e4r::allocator::policies_of_files {
namespace {}  // namespace

extern const Policy linear = {
    .name = "linear",
    .summary = "CR0 to CR3, every rung walking from group to group (mb_optimize_scan=0)",
    .source = "fs/ext4/mballoc.c, Linux 6.1.192 mounted with mb_optimize_scan=0",
    .ladder = kFourCriteria,
    .kernel = kLinux6_1,
    .verified = "Linux 6.1.192 mounted with mb_optimize_scan=0: 7,651 decisions of one writer",
    .walk_only = true,
};

}  // namespace e4r::allocator::policies_of_files
