// SPDX-License-Identifier: GPL-2.0-or-later
#include <array>

#include "allocator/policy.h"
#include "allocator/rungs.h"

namespace e4r::allocator::policies_of_files {

namespace {

constexpr std::array kReleases = {ReleaseRange{{6, 14, 0}, {6, 16, kAnyPatch}}};

}  // namespace

extern const Policy linux_6_14 = {
    .name = "linux-6.14",
    .summary =
        "Linux 6.14 to 6.16: as 6.5, but short finds are kept where they cover the request's end",
    .source = "fs/ext4/mballoc.c, Linux 6.14",
    .ladder = kBestAvailLadder,
    .kernel = kLinux6_14,
    .verified = "Linux 6.14.0: 12,978 decisions of one writer",
    .releases = kReleases,
    .traces = "6.5",
};

}  // namespace e4r::allocator::policies_of_files
