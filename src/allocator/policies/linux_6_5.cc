// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocator/policy.h"
#include "allocator/rungs.h"

namespace e4r::allocator::policies_of_files {

extern const Policy linux_6_5 = {
    .name = "linux-6.5",
    .summary = "Linux 6.5 to 6.16, and 6.12 up to 6.12.76: best-avail before CR2, by order lists",
    .source = "fs/ext4/mballoc.c, Linux 6.5 to 6.8, from reading",
    .ladder = kBestAvailLadder,
    .kernel = kLinux6_5,
};

}  // namespace e4r::allocator::policies_of_files
