// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/mb_files.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace e4r::stats {
namespace {

constexpr const char* kMbStats =
    "mballoc:\n\treqs: 7\n\tsuccess: 6\n\tgroups_scanned: 5\n\tcr0_stats:\n\t\thits: 4\n"
    "\t\tgroups_considered: 3\n\textents_scanned: 9\n\t\tgoal_hits: 2\n\t\t2^n_hits: 1\n"
    "\tbuddies_generated: 32/64\n\tbuddies_time_used: 12345\n";

std::uint64_t value(const std::vector<MbStat>& stats, std::string_view name) {
  for (const MbStat& stat : stats)
    if (stat.name == name) return stat.value;
  ADD_FAILURE() << "no " << name;
  return 0;
}

TEST(MbStats, ReadsSectionsAndWhatFollowsThem) {
  const auto stats = parse_mb_stats(kMbStats);
  ASSERT_TRUE(stats.ok());
  EXPECT_EQ(value(*stats, "reqs"), 7u);
  EXPECT_EQ(value(*stats, "cr0_stats/hits"), 4u);
  EXPECT_EQ(value(*stats, "extents_scanned"), 9u);
  EXPECT_EQ(value(*stats, "goal_hits"), 2u);
  EXPECT_EQ(value(*stats, "2^n_hits"), 1u);
  EXPECT_EQ(value(*stats, "buddies_generated"), 32u);
  EXPECT_FALSE(parse_mb_stats("").ok());
  EXPECT_FALSE(parse_mb_stats("reqs: 7\n").ok());
}

// Texts with the counters of a section in the order of Linux 6.1, and in the order of Linux 6.18.
constexpr const char* kPasted[] = {
    kMbStats,
    "mballoc:\n\treqs: 7\n\tcr_p2_aligned_stats:\n\t\thits: 4\n\t\tgroups_considered: 3\n"
    "\t\textents_scanned: 2\n\t\tuseless_loops: 1\n\tcr_any_free_stats:\n\t\thits: 5\n"
    "\t\tgroups_considered: 6\n\t\textents_scanned: 8\n\t\tuseless_loops: 0\n"
    "\textents_scanned: 10\n\t\tgoal_hits: 11\n",
    "mballoc:\n\treqs: 7\n\tcr2_stats:\n\t\thits: 1\n\t\tgroups_considered: 2\n"
    "\t\tuseless_loops: 3\n\tcr3_stats:\n\t\thits: 4\n\t\tgroups_considered: 5\n"
    "\t\tuseless_loops: 6\n\textents_scanned: 7\n\t\tgoal_hits: 8\n",
};

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string read_values(const std::string& text) {
  const auto stats = parse_mb_stats(text);
  if (!stats.ok()) return stats.error().message;
  std::string out;
  for (const MbStat& stat : *stats) out += fmt::format("{}={} ", stat.name, stat.value);
  return out;
}

TEST(MbStats, AnyIndentationIsRead) {
  for (const std::string text : kPasted) {
    const std::string as_is = read_values(text);
    EXPECT_EQ(read_values(replaced(text, "\t", "    ")), as_is);
    EXPECT_EQ(read_values(replaced(text, "\t", "  ")), as_is);
    if (text != kMbStats) {
      EXPECT_EQ(read_values(replaced(text, "\t", "")), as_is) << "none left";
    }
    EXPECT_EQ(read_values("   " + replaced(replaced(text, "\n", "\n   "), "\t", "  ")), as_is);
    EXPECT_EQ(read_values("> " + replaced(text, "\n", "\n> ")), as_is) << "quoted";
    EXPECT_EQ(read_values(replaced(text, "\n", "\r\n")), as_is);
    EXPECT_EQ(read_values(replaced(text, "\n", "\n\n")), as_is);
  }
  EXPECT_EQ(read_values(kPasted[2]).find("cr3_stats/extents_scanned"), std::string::npos);
  EXPECT_NE(read_values(kPasted[1]).find(" extents_scanned=10"), std::string::npos)
      << read_values(kPasted[1]);
}

TEST(MbStats, SaysWhatIsNoCount) {
  EXPECT_NE(
      read_values("mballoc:\n\tmb stats collection turned off.\n\tTo enable, please write \"1\" to "
                  "sysfs file mb_stats.\n")
          .find("did not count"),
      std::string::npos);
  EXPECT_NE(read_values("mballoc:\n\tother: 0\n").find("none of the kernel's counters"),
            std::string::npos);
  EXPECT_NE(read_values("EXT4-fs (sda1): mballoc: 3102 blocks 3922 reqs (3002 success)\n")
                .find("logs at unmount"),
            std::string::npos);
}

TEST(MbStats, ThoseThatATraceShows) {
  replay::ClosingCounts counts;
  counts.requests = 5;
  counts.goal_hits = 2;
  counts.len_goal_hits = 1;
  counts.hits[static_cast<std::size_t>(mb::Criterion::best_avail)] = 3;
  const allocator::Policy& legacy = *allocator::find_policy("legacy");
  KnownCounters known = known_counters(legacy, counts);
  EXPECT_EQ(known.requests, 5u);
  EXPECT_EQ(known.goal_hits, 2u);
  EXPECT_EQ(known.len_goal_hits, 1u);
  EXPECT_EQ(known[mb::Criterion::cr0].hits, 0u);  // a criterion of the policy
  EXPECT_EQ(known[mb::Criterion::best_avail].hits,
            3u);  // the policy does not have this criterion, but the text does
  EXPECT_FALSE(known[mb::Criterion::cr1_5].hits);
  EXPECT_FALSE(known.breaks);
  // If some counts are uncertain, the counters that depend on them are left out.
  counts.nameless = counts.goals_hidden = 1;
  known = known_counters(legacy, counts);
  EXPECT_FALSE(known[mb::Criterion::cr0].hits);
  EXPECT_FALSE(known.len_goal_hits);
}

// Only closing events show the searches of a kernel without mb_stats.
TEST(KnownCounters, LeaveOutWhatAKernelWithoutMbStatsDoesNotShow) {
  allocator::Counters counters;
  counters.complete = false;
  counters.requests = 5;
  counters[mb::Criterion::cr2].hits = 4;
  const allocator::Policy& policy = *allocator::find_policy("linux-5.4");
  const KnownCounters known = known_counters(policy, counters);
  EXPECT_EQ(known.requests, 5u);
  EXPECT_EQ(known[mb::Criterion::cr2].hits, 4u);
  EXPECT_FALSE(known[mb::Criterion::best_avail].hits);
  EXPECT_FALSE(known.groups_considered());
  EXPECT_FALSE(counters.considered());
  std::vector<std::string> names;
  for (const MbStat& stat : mb_stats(policy, counters)) names.push_back(stat.name);
  EXPECT_EQ(fmt::format("{}", fmt::join(names, " ")),
            "reqs groups_scanned cr0_stats/hits cr1_stats/hits cr2_stats/hits cr3_stats/hits "
            "extents_scanned");
}

// If one source lacks a counter, it is taken from another source.
TEST(KnownCounters, TakeOverWhatIsMissing) {
  KnownCounters known = known_counters(*parse_mb_stats(kMbStats)), other;
  const auto requests = known.requests;
  ASSERT_TRUE(requests);
  other.requests = *requests + 1;
  other.stream_goal_hits = 4;
  other[mb::Criterion::past_last].hits = 5;
  known.add_missing(other);
  EXPECT_EQ(known.requests, requests);
  EXPECT_EQ(known.stream_goal_hits, 4u);
  EXPECT_EQ(known[mb::Criterion::past_last].hits, 5u);
}

// For every kernel, parsing the printed mb_stats text must give the values that were printed.
TEST(KnownCounters, AreReadAsTheyWerePrinted) {
  allocator::Counters counters;
  std::uint64_t next = 1;
  counters.requests = next++;
  counters.extents_scanned = next++;
  counters.order2_hits = next++;
  counters.stream_goal_hits = next++;
  for (const mb::CriterionRow& row : mb::ladder_criteria())
    counters[row.criterion] = {next++, next++, next++, next++, next++};
  for (const allocator::Policy* policy : allocator::policies()) {
    const KnownCounters made = known_counters(*policy, counters);
    const KnownCounters read = known_counters(mb_stats(*policy, counters));
    EXPECT_EQ(made.requests, read.requests);
    EXPECT_EQ(made.extents_scanned, read.extents_scanned);
    EXPECT_EQ(made.order2_hits, read.order2_hits);
    EXPECT_EQ(made.stream_goal_hits, read.stream_goal_hits) << policy->name;
    EXPECT_EQ(made.groups_considered(), read.groups_considered()) << policy->name;
    for (const mb::CriterionRow& row : mb::ladder_criteria()) {
      const auto &a = made[row.criterion], &b = read[row.criterion];
      EXPECT_EQ(a.hits, b.hits) << policy->name << " " << row.name;
      EXPECT_EQ(a.extents_scanned, b.extents_scanned) << policy->name << " " << row.name;
      EXPECT_EQ(a.useless_loops, b.useless_loops) << policy->name << " " << row.name;
      EXPECT_EQ(a.bad_suggestions, b.bad_suggestions) << policy->name << " " << row.name;
    }
  }
}

TEST(MbStats, ComparesWhatBothSidesHave) {
  const auto kernel = parse_mb_stats(kMbStats);
  allocator::Counters counters;
  counters.requests = 7;
  counters.success = 6;
  counters.groups_scanned = 5;
  counters[mb::Criterion::cr0].hits = 4;
  counters[mb::Criterion::cr0].groups_considered = 3;
  counters.extents_scanned = 8;
  counters.goal_hits = 2;
  counters.order2_hits = 1;
  counters.buddies_generated = 32;
  const auto result =
      compare_mb_stats(*kernel, mb_stats(*allocator::find_policy("legacy"), counters));
  EXPECT_EQ(result.compared, 9u);
  ASSERT_EQ(result.differing.size(), 1u);
  EXPECT_EQ(result.differing[0], "extents_scanned: kernel 9, replay 8");
  EXPECT_EQ(result.not_modelled, (std::vector<std::string>{"buddies_time_used"}));
}

TEST(MbStats, WhatTheKernelsTextLacksIsNotEqual) {
  const auto& legacy = *allocator::find_policy("legacy");
  const auto one = compare_mb_stats(*parse_mb_stats("mballoc:\n\treqs: 0\n"), mb_stats(legacy, {}));
  EXPECT_EQ(one.compared, 1u);
  EXPECT_TRUE(one.differing.empty());
  EXPECT_FALSE(one.equal());
  EXPECT_EQ(one.missing.front(), "success");
  const auto none = compare_mb_stats({{"other", 0}}, {});
  EXPECT_FALSE(none.equal()) << "nothing was compared";
}

// If a group's lock is held, a kernel may or may not count the group.
TEST(MbStats, LockedGroupsLeaveACounterOpen) {
  const auto& policy = *allocator::find_policy("linux-7.3");
  allocator::Counters counters;
  counters[mb::Criterion::cr0].groups_considered = 5;
  counters[mb::Criterion::cr0].passed_over = 2;
  const auto compared = [&](std::uint64_t kernels) {
    std::vector<MbStat> kernel = mb_stats(policy, {});
    for (MbStat& stat : kernel)
      if (stat.name == "cr0_stats/groups_considered") stat.value = kernels;
    return compare_mb_stats(kernel, mb_stats(policy, counters));
  };
  for (const std::uint64_t within : {5, 6, 7}) {
    const MbStatsComparison result = compared(within);
    EXPECT_TRUE(result.equal()) << within;
    EXPECT_EQ(result.equal_ones(), result.compared - 1);
    ASSERT_EQ(result.open.size(), 1u);
    EXPECT_EQ(result.open[0],
              fmt::format("cr0_stats/groups_considered: kernel {}, replay 5 to 7", within));
  }
  for (const std::uint64_t beyond : {4, 8}) {
    EXPECT_FALSE(compared(beyond).equal()) << beyond;
    EXPECT_EQ(compared(beyond).differing.size(), 1u);
  }
}

// If the kernel's text lacks a group, this group counts as different.
TEST(MbGroups, AGroupThatIsMissingDiffers) {
  state::Source source;
  source.geometry.groups = 2;
  source.geometry.blocks_per_group = source.geometry.clusters_per_group = 1024;
  source.geometry.blocks_count = 2048;
  const std::vector<std::uint64_t> words(16, ~0ull);
  source.groups.assign(2, {words, 0, 0, false, false});
  const state::FsState state(source, state::GroupIndex::lists);
  const auto groups = parse_mb_groups("#1: 0 0 0 [ 0 0 0 0 0 0 0 0 0 0 0 0 0 0 ]\n");
  const auto result = compare_mb_groups(*groups, state);
  EXPECT_EQ(result.differing, 1u);
  EXPECT_EQ(result.first, "group 0: the kernel's text lacks it");
}

// Lustre's ldiskfs has two more columns: the free clusters according to the descriptor, and the
// number of preallocations.
TEST(MbGroups, OfLdiskfsHaveTwoMoreColumns) {
  const auto groups = parse_mb_groups(
      "#group: bfree gfree frags first pa    [ 2^0   2^1 ]\n"
      "#3    : 7912  32476 12    24856 2     [ 4     5 ]\n");
  ASSERT_TRUE(groups.ok()) << groups.error().message;
  ASSERT_EQ(groups->size(), 1u);
  const auto& group = groups->front();
  EXPECT_EQ(group.number, 3u);
  EXPECT_EQ(group.free, 7912u);
  EXPECT_EQ(group.fragments, 12u);
  EXPECT_EQ(group.first_free, 24856u);
  EXPECT_EQ(group.counters[0], 4u);
  EXPECT_EQ(group.counters[1], 5u);
  EXPECT_EQ(group.printed, 2u);
  EXPECT_FALSE(parse_mb_groups("#3 : 1 2 3 4 [ 1 ]\n").ok()) << "neither form";
}

TEST(MbStats, NamesTheRungsOfThePolicy) {
  const auto has = [](const char* policy, std::string_view name) {
    for (const MbStat& stat : mb_stats(*allocator::find_policy(policy), {}))
      if (stat.name == name) return true;
    return false;
  };
  EXPECT_TRUE(has("cr1.5", "cr1.5_stats/hits"));
  EXPECT_FALSE(has("legacy", "cr1.5_stats/hits"));
}

TEST(MbGroups, ComparesEachFigure) {
  state::Source source;
  source.geometry.groups = 1;
  source.geometry.blocks_per_group = source.geometry.clusters_per_group = 1024;
  source.geometry.blocks_count = 1024;
  std::vector<std::uint64_t> words(16, 0);
  words[0] = 0xf;
  source.groups.push_back({words, 1020, 1020, false, false});
  state::FsState state(source, state::GroupIndex::lists);
  state.load(0);
  const std::string line = "#0    : 1020  1     4     [ 0 0 1 1 1 1 1 1 1 1 0 0 0 0  ]\n";
  const auto groups = parse_mb_groups("#group: free  frags first [ 2^0 ]\n" + line);
  ASSERT_TRUE(groups.ok());
  EXPECT_EQ(compare_mb_groups(*groups, state).differing, 0u);
  for (const auto& [from, to] :
       {std::pair{"1020", "1021"}, std::pair{" 1     4", " 2     4"}, std::pair{" 4 ", " 5 "},
        std::pair{"[ 0 0 1", "[ 0 1 1"}, std::pair{"#0", "#1"}}) {
    std::string other = line;
    other.replace(other.find(from), std::string_view(from).size(), to);
    const auto result = compare_mb_groups(*parse_mb_groups(other), state);
    EXPECT_EQ(result.differing, from == std::string_view("#0") ? 2u : 1u) << other;
    EXPECT_FALSE(result.first.empty());
    EXPECT_FALSE(result.equal());
  }
  // The first text has too few counters, the second repeats a group.
  EXPECT_EQ(compare_mb_groups(*parse_mb_groups("#0: 1020 1 4 [ ]\n"), state).differing, 1u);
  EXPECT_EQ(compare_mb_groups(*parse_mb_groups(line + line), state).differing, 1u);
  EXPECT_FALSE(parse_mb_groups("nothing\n").ok());
}

// A criterion's section has two names. With either name, its counters have the same names.
TEST(MbStats, EverySectionIsKnownByBothOfItsNames) {
  for (const mb::CriterionRow& row : mb::ladder_criteria())
    for (const std::string_view section : {row.section, row.section_6_5}) {
      if (section.empty()) continue;
      const auto parsed = parse_mb_stats(fmt::format("mballoc:\n\t{}:\n\t\thits: 7\n", section));
      ASSERT_TRUE(parsed.ok()) << section;
      EXPECT_EQ(known_counters(*parsed)[row.criterion].hits, 7u) << section;
    }
}

}  // namespace
}  // namespace e4r::stats
