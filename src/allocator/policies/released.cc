// SPDX-License-Identifier: GPL-2.0-or-later
#include <array>

#include "allocator/policy.h"
#include "allocator/rungs.h"

// The kernels of long-term and enterprise releases. Stable kernels change their rules within a
// series, so a policy is named after the first release with its rules; the latest policy of a
// series has the series as its alias. docs/kernels.md lists the changes.
namespace e4r::allocator::policies_of_files {
namespace {

using state::GroupIndex;

// Two rules that changed together: where a found extent that is shorter than the goal is placed,
// and whether the goal moves next to a mapped neighbour.
struct Finds {
  Placement placed;
  NeighbourGoal neighbour;
};

using Retries = PreallocRules::Retries;

constexpr Kernel without_closed_groups(Kernel kernel) {
  kernel.preallocs.groups_closed_files = false;
  return kernel;
}
constexpr Kernel without_stats(Kernel kernel) {
  kernel.stats = StatNames::none;
  return kernel;
}
constexpr Finds kWindow = {Placement::window, NeighbourGoal::lost};
constexpr Finds kOverStart = {Placement::over_start, NeighbourGoal::aimed_at};
constexpr Finds kOverEnd = {Placement::over_end, NeighbourGoal::aimed_at};

// Kernels up to 6.4, which have the criteria CR0 to CR3. The kernels of walks_5_4() and
// walks_5_10() have no index.
constexpr Kernel by_index(std::string_view name, GroupIndex index, Indexed indexed,
                          const Finds& finds) {
  Kernel kernel = kLinux6_1;
  kernel.name = name;
  kernel.groups.index = index;
  kernel.groups.indexed = indexed;
  kernel.preallocs.placed = finds.placed;
  kernel.remembers.neighbour = finds.neighbour;
  kernel.remembers.tries_goal_only = finds.neighbour == NeighbourGoal::aimed_at;
  return kernel;
}
constexpr Kernel walks_5_10(std::string_view name, const Finds& finds) {
  return without_closed_groups(by_index(name, GroupIndex::none, Indexed::with_extents, finds));
}
constexpr Kernel walks_5_4(std::string_view name, const Finds& finds, Retries retries) {
  Kernel kernel = walks_5_10(name, finds);
  kernel.read_ahead = kNoReadAhead;
  kernel.remembers.tries_goal_only = false;
  kernel.preallocs = with_placement(kPreallocs5_4, finds.placed);
  kernel.preallocs.retries = retries;
  return without_stats(without_closed_groups(kernel));
}

// Kernels that have the criteria CR0 to CR3 and keep preallocations in a tree: 6.4, and RHEL from
// 9.4 on.
constexpr Kernel by_block(std::string_view name, const PreallocRules& preallocs,
                          const StripeRules& stripe, const Finds& finds) {
  Kernel kernel = by_index(name, GroupIndex::lists_keep_full, Indexed::with_extents, finds);
  kernel.preallocs = with_placement(preallocs, finds.placed);
  kernel.stripe = stripe;
  kernel.read_ahead = kReadAhead6_4;
  return kernel;
}

// Kernels that have best-avail and find groups by lists: 6.6 to 6.12.76. All of them move the goal
// next to a mapped neighbour.
constexpr Kernel with_best_avail(std::string_view name, GroupIndex index, Indexed indexed,
                                 const ReadAheadRules& read_ahead, const StripeRules& stripe,
                                 Placement placement) {
  Kernel kernel = kLinux6_14;
  kernel.name = name;
  kernel.groups.index = index;
  kernel.groups.indexed = indexed;
  kernel.read_ahead = read_ahead;
  kernel.stripe = stripe;
  kernel.preallocs.placed = placement;
  return kernel;
}
constexpr Kernel by_lists_6_6(std::string_view name, GroupIndex index, Indexed indexed,
                              Placement placement) {
  return with_best_avail(name, index, indexed, kReadAhead6_5, kStripe6_5, placement);
}

// This kernel retries as RHEL 8 does. Linux up to 5.4.243 retries as 5.4.244 does, but only
// requests that get nothing show the difference.
constexpr Kernel kEl8 = walks_5_4("Linux 4.18 to 5.4.243, RHEL 8", kWindow, Retries::twice);
constexpr Kernel k5_4_244 =
    walks_5_4("Linux 5.4.244 to 5.4.273", kOverStart, Retries::while_discarding);
constexpr Kernel k5_4_274 =
    walks_5_4("Linux 5.4.274 and later", kOverEnd, Retries::while_discarding);
// Up to 5.10.145 the number of tries has no limit. Only requests with EXT4_MB_HINT_GOAL_ONLY show
// this, and ext4 makes no such requests.
constexpr Kernel k5_10_0 = without_stats(walks_5_10("Linux 5.10 to 5.10.180", kWindow));
constexpr Kernel k5_10_181 = walks_5_10("Linux 5.10.181 to 5.10.214", kOverStart);
constexpr Kernel k5_10_215 = walks_5_10("Linux 5.10.215 and later", kOverEnd);
// Kernels up to 5.15.70.
constexpr Kernel by_tree_at_once(std::string_view name, Indexed indexed) {
  Kernel kernel = by_index(name, GroupIndex::tree_to_end, indexed, kWindow);
  kernel.groups.asks_at_once = true;
  kernel.preallocs.retries = Retries::strict_at_end;
  return without_closed_groups(kernel);
}
constexpr Kernel k5_15_0 =
    by_tree_at_once("Linux 5.13 to 5.15.32, RHEL 9.0", Indexed::without_extents);
constexpr Kernel k5_15_33 =
    by_tree_at_once("Linux 5.15.33 to 5.15.70, RHEL 9.1", Indexed::with_extents);
constexpr Kernel k5_15_71 =
    by_index("Linux 5.15.71 to 5.15.112", GroupIndex::tree, Indexed::with_extents, kWindow);
constexpr Kernel k5_15_113 =
    by_index("Linux 5.15.113 to 5.15.153", GroupIndex::tree, Indexed::with_extents, kOverStart);
constexpr Kernel k5_15_154 =
    by_index("Linux 5.15.154 to 5.15.201", GroupIndex::tree, Indexed::with_extents, kOverEnd);
constexpr Kernel k5_15_202 =
    by_index("Linux 5.15.202 and later", GroupIndex::tree, Indexed::every_file, kOverEnd);
constexpr Kernel k6_1_0 = by_index("Linux 6.0 to 6.1.29, RHEL 9.2", GroupIndex::lists_keep_full,
                                   Indexed::with_extents, kWindow);
constexpr Kernel k6_1_30 = by_index("Linux 6.1.30 to 6.1.83", GroupIndex::lists_keep_full,
                                    Indexed::with_extents, kOverStart);
constexpr Kernel k6_1_84 = by_index("Linux 6.1.84 to 6.1.148", GroupIndex::lists_keep_full,
                                    Indexed::with_extents, kOverEnd);
constexpr Kernel k6_1_149 =
    by_index("Linux 6.1.149 to 6.1.164", GroupIndex::lists, Indexed::with_extents, kOverEnd);
constexpr Kernel k6_4 = by_block("Linux 6.4", kPreallocs6_4, kStripe6_1, kOverStart);
constexpr Kernel kEl9_4 = by_block("RHEL 9.4", kPreallocs6_5, kStripe6_5, kOverStart);
constexpr Kernel kEl9_5 = by_block("RHEL 9.5", kPreallocs6_5, kStripe6_5, kOverEnd);
constexpr Kernel kEl9_6 = by_block("RHEL 9.6", kPreallocs6_5, kStripe6_8, kOverEnd);
constexpr Kernel k6_6_0 = by_lists_6_6("Linux 6.6 to 6.6.23", GroupIndex::lists_keep_full,
                                       Indexed::with_extents, Placement::over_start);
constexpr Kernel k6_6_24 = by_lists_6_6("Linux 6.6.24 to 6.6.102", GroupIndex::lists_keep_full,
                                        Indexed::with_extents, Placement::over_end);
constexpr Kernel k6_6_103 = by_lists_6_6("Linux 6.6.103 to 6.6.127", GroupIndex::lists,
                                         Indexed::with_extents, Placement::over_end);
constexpr Kernel k6_6_128 = by_lists_6_6("Linux 6.6.128 and later", GroupIndex::lists,
                                         Indexed::every_file, Placement::over_end);
constexpr Kernel k6_8 =
    with_best_avail("Linux 6.8", GroupIndex::lists_keep_full, Indexed::with_extents, kReadAhead6_5,
                    kStripe6_8, Placement::over_start);
constexpr Kernel k6_12_43 =
    with_best_avail("Linux 6.12.43 to 6.12.76", GroupIndex::lists, Indexed::with_extents,
                    kReadAhead6_8, kStripe6_8, Placement::over_end);
constexpr Kernel k6_17 = [] {
  Kernel kernel = kSince6_17;
  kernel.name = "Linux 6.17 to 6.18.9";
  kernel.groups.indexed = Indexed::with_extents;
  kernel.groups.enters_after_round = true;
  return kernel;
}();

constexpr std::array kEl8Releases = {ReleaseRange{{4, 18, 0}, {5, 4, 243}}};
constexpr std::array k5_4_244Releases = {ReleaseRange{{5, 4, 244}, {5, 4, 273}}};
constexpr std::array k5_4_274Releases = {ReleaseRange{{5, 4, 274}, {5, 4, kAnyPatch}}};
// Kernels from 5.13 on also walk if mounted with mb_optimize_scan=0. Before 6.0, userspace cannot
// see whether the option is set.
constexpr std::array k5_10_0Releases = {ReleaseRange{{5, 9, 0}, {5, 10, 180}},
                                        ReleaseRange{{5, 11, 0}, {5, 15, 112}},
                                        ReleaseRange{{5, 16, 0}, {5, 19, kAnyPatch}}};
constexpr std::array k5_10_181Releases = {ReleaseRange{{5, 10, 181}, {5, 10, 214}},
                                          ReleaseRange{{5, 15, 113}, {5, 15, 153}}};
constexpr std::array k5_10_215Releases = {ReleaseRange{{5, 10, 215}, {5, 10, kAnyPatch}},
                                          ReleaseRange{{5, 15, 154}, {5, 15, kAnyPatch}}};
constexpr std::array k5_15_0Releases = {ReleaseRange{{5, 13, 0}, {5, 15, 32}},
                                        ReleaseRange{{5, 16, 0}, {5, 17, kAnyPatch}}};
constexpr std::array k5_15_33Releases = {ReleaseRange{{5, 15, 33}, {5, 15, 70}},
                                         ReleaseRange{{5, 16, 0}, {5, 19, kAnyPatch}}};
constexpr std::array k5_15_71Releases = {ReleaseRange{{5, 15, 71}, {5, 15, 112}},
                                         ReleaseRange{{5, 19, 0}, {5, 19, kAnyPatch}}};
constexpr std::array k5_15_113Releases = {ReleaseRange{{5, 15, 113}, {5, 15, 153}}};
constexpr std::array k5_15_154Releases = {ReleaseRange{{5, 15, 154}, {5, 15, 201}}};
constexpr std::array k5_15_202Releases = {ReleaseRange{{5, 15, 202}, {5, 15, kAnyPatch}}};
constexpr std::array k6_1_0Releases = {ReleaseRange{{6, 0, 0}, {6, 1, 29}},
                                       ReleaseRange{{6, 2, 0}, {6, 3, kAnyPatch}}};
constexpr std::array k6_1_30Releases = {ReleaseRange{{6, 1, 30}, {6, 1, 83}}};
constexpr std::array k6_1_84Releases = {ReleaseRange{{6, 1, 84}, {6, 1, 148}}};
constexpr std::array k6_1_149Releases = {ReleaseRange{{6, 1, 149}, {6, 1, 164}}};
constexpr std::array k6_4Releases = {ReleaseRange{{6, 3, 0}, {6, 4, kAnyPatch}}};
constexpr std::array k6_6_0Releases = {ReleaseRange{{6, 6, 0}, {6, 6, 23}},
                                       ReleaseRange{{6, 7, 0}, {6, 7, kAnyPatch}}};
constexpr std::array k6_6_24Releases = {ReleaseRange{{6, 6, 24}, {6, 6, 102}}};
constexpr std::array k6_6_103Releases = {ReleaseRange{{6, 6, 103}, {6, 6, 127}}};
constexpr std::array k6_6_128Releases = {ReleaseRange{{6, 6, 128}, {6, 6, kAnyPatch}}};
constexpr std::array k6_8Releases = {ReleaseRange{{6, 8, 0}, {6, 8, kAnyPatch}}};
constexpr std::array k6_12_43Releases = {ReleaseRange{{6, 12, 43}, {6, 12, 76}}};
constexpr std::array k6_17Releases = {ReleaseRange{{6, 17, 0}, {6, 18, kAnyPatch}}};

using Builds = std::array<std::string_view, 1>;
constexpr Builds kEl8Builds = {"el8"};
constexpr Builds kEl9_0Builds = {"el9_0"};
constexpr Builds kEl9_1Builds = {"el9_1"};
constexpr std::array<std::string_view, 2> kEl9_2Builds = {"el9_2", "el9_3"};
constexpr Builds kEl9_4Builds = {"el9_4"};
constexpr Builds kEl9_5Builds = {"el9_5"};
constexpr Builds kEl9_6Builds = {"el9_6"};
constexpr Builds kEl10_2Builds = {"el10_2"};

}  // namespace

extern const Policy el8 = {
    .name = "el8",
    .alias = "linux-4.18",
    .summary = "RHEL 8, and Linux up to 5.4.243: CR0 to CR3 by walks, without read-ahead",
    .source = "fs/ext4/mballoc.c, kernel-4.18.0-553.66.1.el8_10",
    .ladder = kFourCriteria5_4,
    .kernel = kEl8,
    .verified = "mballoc.c of RHEL 8.10 in Linux 5.4.301: 4,764 decisions of one writer",
    .code = "mballoc.c of RHEL 8.10 in Linux 5.4.301: 1,033,872 decisions of random lives",
    .releases = kEl8Releases,
    .builds = kEl8Builds,
    .traces = "6.1",
    .walk_only = true,
};
extern const Policy linux_5_4_244 = {
    .name = "linux-5.4.244",
    .summary = "Linux 5.4.244 to .273: as el8, but neighbours' goals are used",
    .source = "fs/ext4/mballoc.c, Linux 5.4.244",
    .ladder = kFourCriteria5_4,
    .kernel = k5_4_244,
    .code = "Linux 5.4.251: 1,032,395 decisions of random lives",
    .releases = k5_4_244Releases,
    .traces = "6.1",
    .walk_only = true,
};
extern const Policy linux_5_4_274 = {
    .name = "linux-5.4.274",
    .alias = "linux-5.4",
    .summary =
        "Linux 5.4.274 and later: as 5.4.244, but a short find at the goal's start must cover the "
        "request's end",
    .source = "fs/ext4/mballoc.c, Linux 5.4.274 to 5.4.301",
    .ladder = kFourCriteria5_4,
    .kernel = k5_4_274,
    .verified = "Linux 5.4.301: 4,777 decisions of one writer",
    .code = "Linux 5.4.301: 1,031,292 decisions of random lives",
    .releases = k5_4_274Releases,
    .traces = "6.1",
    .walk_only = true,
};
extern const Policy linux_5_10_0 = {
    .name = "linux-5.10.0",
    .summary = "Linux 5.9 to 5.10.180: CR0 to CR3 by walks, with read-ahead",
    .source = "fs/ext4/mballoc.c, Linux 5.10.35 to 5.10.180",
    .ladder = kFourCriteria,
    .kernel = k5_10_0,
    .code = "Linux 5.10.175: 1,034,680 decisions of random lives",
    .releases = k5_10_0Releases,
    .traces = "6.1",
    .walk_only = true,
};
extern const Policy linux_5_10_181 = {
    .name = "linux-5.10.181",
    .summary = "Linux 5.10.181 to .214: as 5.10.0, but neighbours' goals are used",
    .source = "fs/ext4/mballoc.c, Linux 5.10.181 to 5.10.212",
    .ladder = kFourCriteria,
    .kernel = k5_10_181,
    .code = "Linux 5.10.205: 1,035,532 decisions of random lives",
    .releases = k5_10_181Releases,
    .traces = "6.1",
    .walk_only = true,
};
extern const Policy linux_5_10_215 = {
    .name = "linux-5.10.215",
    .alias = "linux-5.10",
    .summary =
        "Linux 5.10.215 and later: as 5.10.181, but a short find at the goal's start must cover "
        "the request's end",
    .source = "fs/ext4/mballoc.c, Linux 5.10.215 to 5.10.253",
    .ladder = kFourCriteria,
    .kernel = k5_10_215,
    .verified =
        "Linux 5.10.265, and 5.15.215 with mb_optimize_scan=0: 4,132 decisions of one writer",
    .code = "Linux 5.10.265: 1,034,358 decisions of random lives, 4,132 of captures",
    .releases = k5_10_215Releases,
    .traces = "6.1",
    .walk_only = true,
};
extern const Policy linux_5_15_0 = {
    .name = "linux-5.15.0",
    .alias = "el9_0",
    .summary = "Linux 5.13 to 5.15.32, RHEL 9.0: walks, but an index for files without extents",
    .source = "fs/ext4/mballoc.c, Linux 5.15.0 to 5.15.22",
    .ladder = kFourCriteria,
    .kernel = k5_15_0,
    .code =
        "mballoc.c of RHEL 9.0 in 5.15.103: 83 of 97 random lives, the others with groups of odd "
        "sizes",
    .releases = k5_15_0Releases,
    .builds = kEl9_0Builds,
    .traces = "6.1",
};
extern const Policy linux_5_15_33 = {
    .name = "linux-5.15.33",
    .alias = "el9_1",
    .summary = "Linux 5.15.33 to .70, RHEL 9.1: CR1 by a tree of average free extents",
    .source = "fs/ext4/mballoc.c, Linux 5.15.33 to 5.15.49",
    .ladder = kFourCriteria,
    .kernel = k5_15_33,
    .code = "Linux 5.15.49: 1,032,026 decisions of random lives",
    .releases = k5_15_33Releases,
    .builds = kEl9_1Builds,
    .traces = "6.1",
};
extern const Policy linux_5_15_71 = {
    .name = "linux-5.15.71",
    .summary = "Linux 5.15.71 to .112: as 5.15.33, but goals are tried before the index",
    .source = "fs/ext4/mballoc.c, Linux 5.15.71 to 5.15.112",
    .ladder = kFourCriteria,
    .kernel = k5_15_71,
    .code = "Linux 5.15.103: 1,035,511 decisions of random lives",
    .releases = k5_15_71Releases,
    .traces = "6.1",
};
extern const Policy linux_5_15_113 = {
    .name = "linux-5.15.113",
    .summary = "Linux 5.15.113 to .153: as 5.15.71, but neighbours' goals are used",
    .source = "fs/ext4/mballoc.c, Linux 5.15.113 to 5.15.150",
    .ladder = kFourCriteria,
    .kernel = k5_15_113,
    .code = "mballoc.c of Linux 5.15.144: 1,035,900 decisions of random lives",
    .releases = k5_15_113Releases,
    .traces = "6.1",
};
extern const Policy linux_5_15_154 = {
    .name = "linux-5.15.154",
    .summary =
        "Linux 5.15.154 to .201: as 5.15.113, but a short find at the goal's start must cover the "
        "request's end",
    .source = "fs/ext4/mballoc.c, Linux 5.15.154 to 5.15.198",
    .ladder = kFourCriteria,
    .kernel = k5_15_154,
    .code = "mballoc.c of Linux 5.15.190 in 5.15.215: 1,035,730 decisions of random lives",
    .releases = k5_15_154Releases,
    .traces = "6.1",
};
extern const Policy linux_5_15_202 = {
    .name = "linux-5.15.202",
    .alias = "linux-5.15",
    .summary =
        "Linux 5.15.202 and later: as 5.15.154, but files without extents use the index, too",
    .source = "fs/ext4/mballoc.c, Linux 5.15.202 to 5.15.215",
    .ladder = kFourCriteria,
    .kernel = k5_15_202,
    .verified = "Linux 5.15.215: 9,237 decisions of one writer",
    .code = "Linux 5.15.215: 1,035,803 decisions of random lives",
    .releases = k5_15_202Releases,
    .traces = "6.1",
};
extern const Policy linux_6_1_0 = {
    .name = "linux-6.1.0",
    .alias = "el9_2",
    .summary = "Linux 6.0 to 6.1.29, RHEL 9.2 and 9.3: CR0 and CR1 by lists that keep full groups",
    .source = "fs/ext4/mballoc.c, Linux 6.1.0 to 6.1.29, kernel-5.14.0-284.30.1.el9_2",
    .ladder = kFourCriteria,
    .kernel = k6_1_0,
    .verified = "mballoc.c of RHEL 9.2 in Linux 6.1.166: 4,754 decisions of one writer",
    .code =
        "mballoc.c of Linux 6.1.2 and RHEL 9.2 in 6.1.192: 1,035,021 decisions of random lives "
        "each",
    .releases = k6_1_0Releases,
    .builds = kEl9_2Builds,
    .traces = "6.1",
};
extern const Policy linux_6_1_30 = {
    .name = "linux-6.1.30",
    .summary = "Linux 6.1.30 to .83: as 6.1.0, but neighbours' goals are used",
    .source = "fs/ext4/mballoc.c, Linux 6.1.30 to 6.1.80",
    .ladder = kFourCriteria,
    .kernel = k6_1_30,
    .code = "mballoc.c of Linux 6.1.80 in 6.1.192: 1,034,660 decisions of random lives",
    .releases = k6_1_30Releases,
    .traces = "6.1",
};
extern const Policy linux_6_1_84 = {
    .name = "linux-6.1.84",
    .summary =
        "Linux 6.1.84 to .148: as 6.1.30, but a short find at the goal's start must cover the "
        "request's end",
    .source = "fs/ext4/mballoc.c, Linux 6.1.84 to 6.1.120",
    .ladder = kFourCriteria,
    .kernel = k6_1_84,
    .code = "mballoc.c of Linux 6.1.120 in 6.1.192: 1,034,664 decisions of random lives",
    .releases = k6_1_84Releases,
    .traces = "6.1",
};
extern const Policy linux_6_1_149 = {
    .name = "linux-6.1.149",
    .summary = "Linux 6.1.149 to .164: as 6.1.84, but full groups leave their lists",
    .source = "fs/ext4/mballoc.c, Linux 6.1.149 and 6.1.160",
    .ladder = kFourCriteria,
    .kernel = k6_1_149,
    .code = "mballoc.c of Linux 6.1.160 in 6.1.192: 1,034,647 decisions of random lives",
    .releases = k6_1_149Releases,
    .traces = "6.1",
};
extern const Policy linux_6_4 = {
    .name = "linux-6.4",
    .summary = "Linux 6.4: as 6.1.30, with an inode's preallocations in a tree",
    .source = "fs/ext4/mballoc.c, Linux 6.4.6",
    .ladder = kFourCriteria,
    .kernel = k6_4,
    .verified = "Linux 6.4.6: 4,776 decisions of one writer",
    .code = "Linux 6.4.6: 1,035,045 decisions of random lives",
    .releases = k6_4Releases,
    .traces = "6.1",
};
extern const Policy el9_4 = {
    .name = "el9_4",
    .summary = "RHEL 9.4: as 6.4, with the stripe in clusters",
    .source = "fs/ext4/mballoc.c, kernel-5.14.0-427.42.1.el9_4",
    .ladder = kFourCriteria,
    .kernel = kEl9_4,
    .verified = "mballoc.c of RHEL 9.4 in Linux 6.4.6: 4,094 decisions of one writer",
    .code = "mballoc.c of RHEL 9.4 in Linux 6.4.6: 1,034,823 decisions of random lives",
    .builds = kEl9_4Builds,
    .traces = "6.1",
};
extern const Policy el9_5 = {
    .name = "el9_5",
    .summary =
        "RHEL 9.5: as 9.4, but a short find at the goal's start must cover the request's end",
    .source = "fs/ext4/mballoc.c, kernel-5.14.0-503.40.1.el9_5",
    .ladder = kFourCriteria,
    .kernel = kEl9_5,
    .code = "mballoc.c of RHEL 9.5 in Linux 6.4.6: 1,034,556 decisions of random lives",
    .builds = kEl9_5Builds,
    .traces = "6.1",
};
extern const Policy el9_6 = {
    .name = "el9_6",
    .summary = "RHEL 9.6: as 9.5, but a group without an aligned stripe gives any extent",
    .source = "fs/ext4/mballoc.c, kernel-5.14.0-570.32.1.el9_6",
    .ladder = kFourCriteria,
    .kernel = kEl9_6,
    .verified = "mballoc.c of RHEL 9.6 in Linux 6.4.6: 4,084 decisions of one writer",
    .code = "mballoc.c of RHEL 9.6 in Linux 6.4.6: 1,034,556 decisions of random lives",
    .builds = kEl9_6Builds,
    .traces = "6.1",
};
extern const Policy linux_6_6_0 = {
    .name = "linux-6.6.0",
    .summary = "Linux 6.6 to 6.6.23: as 6.5, but best-avail is only for data",
    .source = "fs/ext4/mballoc.c, Linux 6.6.0 to 6.6.19",
    .ladder = kBestAvailLadder,
    .kernel = k6_6_0,
    .code = "fs/ext4 of Linux 6.6.10 in 6.6.150: 1,024,549 decisions of random lives",
    .releases = k6_6_0Releases,
    .traces = "6.5",
};
extern const Policy linux_6_6_24 = {
    .name = "linux-6.6.24",
    .summary =
        "Linux 6.6.24 to .102: as 6.6.0, but a short find at the goal's start must cover the "
        "request's end",
    .source = "fs/ext4/mballoc.c, Linux 6.6.24 to 6.6.64",
    .ladder = kBestAvailLadder,
    .kernel = k6_6_24,
    .code = "fs/ext4 of Linux 6.6.60 in 6.6.150: 1,024,814 decisions of random lives",
    .releases = k6_6_24Releases,
    .traces = "6.5",
};
extern const Policy linux_6_6_103 = {
    .name = "linux-6.6.103",
    .summary = "Linux 6.6.103 to .127: as 6.6.24, but full groups leave their lists",
    .source = "fs/ext4/mballoc.c, Linux 6.6.103 and 6.6.120",
    .ladder = kBestAvailLadder,
    .kernel = k6_6_103,
    .code = "fs/ext4 of Linux 6.6.120 in 6.6.150: 1,024,789 decisions of random lives",
    .releases = k6_6_103Releases,
    .traces = "6.5",
};
extern const Policy linux_6_6_128 = {
    .name = "linux-6.6.128",
    .alias = "linux-6.6",
    .summary = "Linux 6.6.128 and later: as 6.6.103, but files without extents use the index, too",
    .source = "fs/ext4/mballoc.c, Linux 6.6.128 to 6.6.134",
    .ladder = kBestAvailLadder,
    .kernel = k6_6_128,
    .verified = "Linux 6.6.150: 4,831 decisions of one writer",
    .code = "Linux 6.6.150: 1,027,248 decisions of random lives",
    .releases = k6_6_128Releases,
    .traces = "6.5",
};
extern const Policy linux_6_8 = {
    .name = "linux-6.8",
    .summary = "Linux 6.8: as 6.6.0, but a group without an aligned stripe gives any extent",
    .source = "fs/ext4/mballoc.c, Linux 6.8.1",
    .ladder = kBestAvailLadder,
    .kernel = k6_8,
    .verified = "Linux 6.8.1: 2,067 decisions of one writer",
    .code = "Linux 6.8.1: 1,024,549 decisions of random lives",
    .releases = k6_8Releases,
    .traces = "6.5",
};
extern const Policy linux_6_12_43 = {
    .name = "linux-6.12.43",
    .summary = "Linux 6.12.43 to .76: as 6.14, but full groups leave their lists",
    .source = "fs/ext4/mballoc.c, Linux 6.14, with the lists of 6.6.103",
    .ladder = kBestAvailLadder,
    .kernel = k6_12_43,
    .code = "Linux 6.12.15 with the change of 6.6.103: 1,024,562 decisions of random lives",
    .releases = k6_12_43Releases,
    .traces = "6.5",
};
extern const Policy linux_6_17 = {
    .name = "linux-6.17",
    .summary = "Linux 6.17 to 6.18.9: as 7.3, but files without extents walk the groups",
    .source = "fs/ext4/mballoc.c, Linux 6.18.3",
    .ladder = kBestAvailLadder,
    .kernel = k6_17,
    .verified = "Linux 6.18.9: 2,690 decisions of one writer",
    .code = "Linux 6.18.9: 1,024,924 decisions of random lives",
    .releases = k6_17Releases,
    .builds = kEl10_2Builds,
    .traces = "6.5",
};

}  // namespace e4r::allocator::policies_of_files
