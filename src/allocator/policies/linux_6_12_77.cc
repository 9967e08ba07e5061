// SPDX-License-Identifier: GPL-2.0-or-later
#include <array>

#include "allocator/policy.h"
#include "allocator/rungs.h"

namespace e4r::allocator::policies_of_files {

namespace {

constexpr std::array kReleases = {ReleaseRange{{6, 12, 77}, {6, 12, kAnyPatch}}};

}  // namespace

extern const Policy linux_6_12_77 = {
    .name = "linux-6.12.77",
    .alias = "linux-6.12",
    .summary =
        "Linux 6.12.77 and later: best-avail before CR2, groups of a class in ascending order",
    .source = "fs/ext4/mballoc.c, Linux 6.12.117",
    .ladder = kBestAvailLadder,
    .kernel = kLinux6_12,
    .verified = "Linux 6.12.117: 2,764,876 decisions of one writer",
    .code = "Linux 6.12.117: 11,616,872 decisions of random lives, 668,690 of the bundled captures",
    .releases = kReleases,
    .traces = "6.5",
    .long_term = true,
};

}  // namespace e4r::allocator::policies_of_files
