// SPDX-License-Identifier: GPL-2.0-or-later
#include <array>

#include "allocator/policy.h"
#include "allocator/rungs.h"

namespace e4r::allocator::policies_of_files {

namespace {

constexpr std::array kReleases = {ReleaseRange{{6, 17, 0}, {7, 3, kAnyPatch}}};

}  // namespace

extern const Policy linux_7_3 = {
    .name = "linux-7.3",
    .summary =
        "Linux 6.17 to 7.3: as 6.12.77, but a large file continues where the last one with its "
        "hash ended",
    .source = "fs/ext4/mballoc.c, Linux 7.3.4",
    .ladder = kBestAvailLadder,
    .kernel = kLinux7_3,
    .verified = "Linux 7.3.4: 2,765,051 decisions of one writer; 6.18: 6,010",
    .code = "Linux 7.3.4: 11,624,218 decisions of random lives, 669,855 of the bundled captures",
    .releases = kReleases,
    .traces = "6.5",
    .long_term = true,
};

}  // namespace e4r::allocator::policies_of_files
