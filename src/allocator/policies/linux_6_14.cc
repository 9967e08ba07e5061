// SPDX-License-Identifier: GPL-2.0-or-later
#include <array>

#include "allocator/policy.h"
#include "allocator/rungs.h"

namespace e4r::allocator::policies_of_files {

namespace {

constexpr std::array kReleases = {ReleaseRange{{6, 9, 0}, {6, 12, 42}},
                                  ReleaseRange{{6, 13, 0}, {6, 16, kAnyPatch}}};
constexpr std::array<std::string_view, 1> kBuilds = {"el10_0"};

}  // namespace

extern const Policy linux_6_14 = {
    .name = "linux-6.14",
    .alias = "linux-6.12.0",
    .summary =
        "Linux 6.9 to 6.16, 6.12 to .42, RHEL 10.0: as 6.8, but a short find at the goal's start "
        "must cover the request's end",
    .source = "fs/ext4/mballoc.c, Linux 6.14",
    .ladder = kBestAvailLadder,
    .kernel = kLinux6_14,
    .verified = "Linux 6.14.0: 12,978 decisions of one writer",
    .code = "Linux 6.12.15: 1,024,587 decisions of random lives",
    .releases = kReleases,
    .builds = kBuilds,
    .traces = "6.5",
};

}  // namespace e4r::allocator::policies_of_files
