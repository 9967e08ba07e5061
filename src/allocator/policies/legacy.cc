// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocator/policy.h"
#include "allocator/rungs.h"

#include <array>

namespace e4r::allocator::policies_of_files {
namespace {

constexpr std::array kReleases = {ReleaseRange{{6, 1, 165}, {6, 1, kAnyPatch}}};

}  // namespace

extern const Policy legacy = {
    .name = "legacy",
    .alias = "linux-6.1",
    .summary = "Linux 6.1: CR0 to CR3, CR0 and CR1 use order lists when mb_optimize_scan is on",
    .source = "fs/ext4/mballoc.c, Linux 6.1.192",
    .ladder = kFourCriteria,
    .kernel = kLinux6_1,
    .verified = "Linux 6.1.192: 2,790,763 decisions of one writer",
    .code = "Linux 6.1.192: 10,115,311 decisions of random lives, 668,452 of the bundled captures",
    .releases = kReleases,
    .traces = "6.1",
    .long_term = true,
};

}  // namespace e4r::allocator::policies_of_files
