// SPDX-License-Identifier: GPL-2.0-or-later
#include <array>

#include "allocator/policy.h"
#include "allocator/rungs.h"

namespace e4r::allocator::policies_of_files {

namespace {

constexpr std::array kReleases = {ReleaseRange{{6, 5, 0}, {6, 5, kAnyPatch}}};

}  // namespace

extern const Policy linux_6_5 = {
    .name = "linux-6.5",
    .summary = "Linux 6.5: best-avail before CR2, by order lists",
    .source = "fs/ext4/mballoc.c, Linux 6.5",
    .ladder = kBestAvailLadder6_5,
    .kernel = kLinux6_5,
    .verified = "Linux 6.5.0: 5,297 decisions of one writer",
    .releases = kReleases,
    .traces = "6.5",
};

}  // namespace e4r::allocator::policies_of_files
