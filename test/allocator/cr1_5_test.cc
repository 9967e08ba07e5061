// SPDX-License-Identifier: GPL-2.0-or-later
// Tests the rules of the CR1.5 posting one by one.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "allocator/group_search.h"
#include "replay/agreement.h"
#include "support/full_groups.h"
#include "support/model.h"

namespace e4r::test {
namespace {

using allocator::Decision;
using mb::Criterion;

struct Cr15 : FullGroups {
  // Makes one request for `len` clusters. The length of its goal is kGoal.
  Decision ask(std::uint32_t len, std::string_view policy = "cr1.5") {
    rig.emplace(policy, fs, tunables);
    load_all(rig->state);
    return rig->allocator.allocate(data_request(20, len, 3 * kMiB));
  }
  // Returns whether CR1.5 found nothing and restored the goal, so that CR2 or CR3 searched for the
  // whole goal.
  [[nodiscard]] testing::AssertionResult went_on(const Decision& d) const {
    if (d.criterion == Criterion::cr1_5 || d.goal.len != kGoal ||
        counters()[Criterion::cr1_5].hits > 0 || counters()[Criterion::cr2].groups_considered == 0)
      return testing::AssertionFailure() << replay::describe(d);
    return testing::AssertionSuccess();
  }
};

TEST_F(Cr15, TakesTheHighestOrderThatAGroupCanServe) {
  free_runs(fs, 3, 4, 100, 10);
  free_runs(fs, 7, 4, 200, 5);
  free_runs(fs, 9, 4, 100, 10);
  const Decision d = ask(8);
  EXPECT_EQ(d.criterion, Criterion::cr1_5);
  EXPECT_EQ(d.result.group, 7u);
  EXPECT_EQ(d.result.len, 128u);
  EXPECT_EQ(d.goal.len, 128u);
  EXPECT_EQ(d.len, 8u);
  EXPECT_EQ(counters()[Criterion::cr1_5].hits, 1u);
}

TEST_F(Cr15, WithinAnOrderTheFirstGroupOfTheListWins) {
  free_runs(fs, 12, 4, 140, 5);
  free_runs(fs, 5, 4, 130, 5);
  EXPECT_EQ(ask(8).result.group, 5u);  // the group was loaded first, so it is first on the list
}

TEST_F(Cr15, IsNotReachedWhenCr1Finds) {
  free_runs(fs, 3, 4, 200, 5);
  fs.free(4, 4, 1000);
  const Decision d = ask(8);
  EXPECT_LT(d.criterion, Criterion::cr1_5);
  EXPECT_EQ(d.result.len, kGoal);
  EXPECT_EQ(counters()[Criterion::cr1_5].groups_considered, 0u);
}

TEST_F(Cr15, NeverTrimsBelowTheRequest) {
  free_runs(fs, 3, 4, 150, 10);
  EXPECT_EQ(ask(100).criterion, Criterion::cr1_5);  // the goal is trimmed to 128, which covers 100
  EXPECT_TRUE(went_on(ask(129)));                   // a goal that covers 129 would have 256
}

TEST_F(Cr15, TrimsAtMostSoManyOrders) {
  free_runs(fs, 3, 4, 40, 30);
  EXPECT_TRUE(went_on(ask(8))) << "512 >> 3 is 64";
  tunables.mb_cr1_5_max_trim_order = 4;
  const Decision d = ask(8);
  EXPECT_EQ(d.criterion, Criterion::cr1_5);
  EXPECT_EQ(d.result.len, 32u);
}

TEST_F(Cr15, ZeroOrdersMeansNever) {
  free_runs(fs, 3, 4, 300, 5);
  tunables.mb_cr1_5_max_trim_order = 1;
  EXPECT_EQ(ask(8).result.len, 256u);
  tunables.mb_cr1_5_max_trim_order = 0;
  EXPECT_TRUE(went_on(ask(8)));
}

TEST_F(Cr15, AGoalOfNoPowerOfTwoIsTrimmedToTheOneBelow) {
  tunables.mb_group_prealloc = 300;
  free_runs(fs, 3, 4, 280, 5);
  rig.emplace("cr1.5", fs, tunables);
  load_all(rig->state);
  const Decision d = rig->allocator.allocate(data_request(20, 1, 4096));
  EXPECT_EQ(d.criterion, Criterion::cr1_5);
  EXPECT_EQ(d.result.len, 256u);
}

TEST_F(Cr15, TakesTheStripesThatEveryGroupOfTheListHas) {
  tunables.mb_stripe = 24;
  free_runs(fs, 3, 4, 150, 10);
  const Decision d = ask(8);
  EXPECT_EQ(d.criterion, Criterion::cr1_5);
  EXPECT_EQ(d.goal.len, 120u) << "128 rounded down to a multiple of 24";
  EXPECT_EQ(d.result.len, 120u);
  EXPECT_EQ(fs.geometry().block_of(d.result.group, d.result.start) % 24, 0u);
}

TEST_F(Cr15, EndsWithTheShortestMultipleOfTheStripe) {
  tunables.mb_stripe = 24;
  free_runs(fs, 3, 4, 71, 10);
  EXPECT_TRUE(went_on(ask(8))) << "64 rounded up to a multiple of 24 is 72";
  free_runs(fs, 5, 4, 100, 10);
  const Decision d = ask(8);
  EXPECT_EQ(d.result.group, 5u);
  EXPECT_EQ(d.goal.len, 72u);
}

TEST_F(Cr15, AStripeOfWhichTheGoalHoldsOneIsTried) {
  tunables.mb_stripe = 384;
  free_runs(fs, 3, 4, 383, 5);
  EXPECT_TRUE(went_on(ask(8)));
  free_runs(fs, 7, 4, 500, 3);
  const Decision d = ask(8);
  EXPECT_EQ(d.result.group, 7u);
  EXPECT_EQ(d.goal.len, 384u);
}

TEST_F(Cr15, TrimsToOneStripeOfAHundred) {
  tunables.mb_stripe = 100;
  free_runs(fs, 3, 4, 150, 10);
  const Decision d = ask(8);
  EXPECT_EQ(d.criterion, Criterion::cr1_5);
  EXPECT_EQ(d.goal.len, 100u);
}

TEST_F(Cr15, IsNeverShorterThanAStripe) {
  tunables.mb_stripe = 100;
  free_runs(fs, 3, 4, 64, 20);
  EXPECT_TRUE(went_on(ask(8)));
}

TEST_F(Cr15, AStripeLongerThanAGroupIsNone) {
  tunables.mb_stripe = 4096;
  free_runs(fs, 3, 4, 150, 10);
  EXPECT_EQ(ask(8).goal.len, 128u);
}

// The list has `count` groups that cannot serve the shortest goal, and then one that can.
TEST_F(Cr15, LooksAtSoManyGroupsOfAList) {
  for (const std::uint32_t count : {31u, 32u}) {
    ModelFs many({.name = "many", .groups = 40, .block_bits = 12, .clusters_per_group = 2048});
    many.fill();
    for (std::uint32_t group = 0; group < count; ++group) free_runs(many, group, 4, 300, 3);
    free_runs(many, count, 4, 390, 3);
    tunables = allocator::defaults_for(many.geometry());
    tunables.mb_stripe = 384;
    Rig many_rig("cr1.5", many, tunables);
    load_all(many_rig.state);
    const Decision d = many_rig.allocator.allocate(data_request(20, 8, 3 * kMiB));
    EXPECT_EQ(d.criterion == Criterion::cr1_5, count == 31) << replay::describe(d);
  }
}

// Each list is for one order of the average free extent. This goal is longer than any average on
// the last list.
TEST_F(Cr15, AGoalLongerThanAGroupIsTrimmed) {
  tunables.mb_group_prealloc = 131072;
  tunables.mb_cr1_5_max_trim_order = 8;
  free_runs(fs, 3, 4, 600, 2);
  rig.emplace("cr1.5", fs, tunables);
  load_all(rig->state);
  const Decision d = rig->allocator.allocate(data_request(20, 1, 4096));
  EXPECT_EQ(d.criterion, Criterion::cr1_5);
  EXPECT_EQ(d.result.len, 512u);
  EXPECT_EQ(d.goal_len, 131072u);
}

// CR0 finds nothing, because the free extent of 600 clusters has no aligned chunk of the goal's
// order.
TEST_F(Cr15, TheScanByStripeTakesTheWholeGoal) {
  tunables.mb_stripe = 16;
  fs.free(3, 100, 600);
  const Decision stock = ask(512, "legacy");
  EXPECT_EQ(stock.criterion, Criterion::cr1);
  EXPECT_EQ(stock.result.len, 16u) << "Linux 6.1 takes one stripe, of a request for 32";
  const Decision d = ask(512);
  EXPECT_EQ(d.criterion, Criterion::cr1);
  EXPECT_EQ(d.result.start, 112u);
  EXPECT_EQ(d.result.len, 512u);
}

TEST_F(Cr15, WithoutAnAlignedExtentAnyWillDo) {
  tunables.mb_stripe = 128;
  fs.free(3, 130, 520);
  const Decision d = ask(8);
  EXPECT_EQ(d.criterion, Criterion::cr1);
  EXPECT_EQ(d.result.start, 130u);
  EXPECT_EQ(d.result.len, 512u);
  EXPECT_EQ(counters()[Criterion::cr1].bad_suggestions, 0u);
}

TEST(Cr15Bigalloc, StripesCountInClusters) {
  ModelFs fs({.name = "bigalloc",
              .groups = 20,
              .block_bits = 12,
              .clusters_per_group = 2048,
              .cluster_bits = 4});
  fs.fill();
  free_runs(fs, 3, 4, 25, 20);
  allocator::Tunables tunables = allocator::defaults_for(fs.geometry());
  tunables.mb_group_prealloc = 32;
  const auto goal_with = [&](std::uint64_t stripe) {
    tunables.mb_stripe = stripe;
    Rig rig("cr1.5", fs, tunables);
    load_all(rig.state);
    return rig.allocator.allocate(data_request(20, 1, 4096)).goal.len;
  };
  EXPECT_EQ(goal_with(0), 16u);
  EXPECT_EQ(goal_with(96), 12u) << "6 clusters";
  EXPECT_EQ(goal_with(100), 16u) << "no whole number of clusters, so none";
  EXPECT_EQ(goal_with(16), 16u) << "a single cluster is none either";
}

// Only groups 0 and 1 may be used, as for a file without extents on a huge file system.
TEST_F(Cr15, TheListsGiveNoGroupThatTheInodeMayNotUse) {
  fs.free(5, 512, 1024);  // serves CR0
  fs.free(6, 100, 600);   // serves CR1
  free_runs(fs, 7, 4, 300, 5);
  for (const char* name : {"legacy", "cr1.5"}) {
    rig.emplace(name, fs, tunables);
    load_all(rig->state);
    allocator::Counters count;
    allocator::Search search(rig->state, tunables, count);
    search.orig = {0, 0, 8, 0};
    search.goal = {0, 0, kGoal, 0};
    search.goal_len = kGoal;
    search.groups = 2;
    const allocator::StreamGoals streams(allocator::kOneStreamGoal, 2, 1);
    allocator::GroupSearch(search, *allocator::find_policy(name))
        .run(streams, allocator::SearchStart(allocator::kStartAtGoal));
    const bool found = search.status == allocator::Search::Status::found;
    EXPECT_EQ(found, name == std::string_view("legacy")) << "6.1's lists are not bounded";
  }
}

TEST_F(Cr15, RestoresTheGoalBeforeCr2) {
  free_runs(fs, 3, 4, 30, 10);
  free_runs(fs, 6, 4, 30, 40);
  const Decision d = ask(8);
  EXPECT_TRUE(went_on(d));
  // CR2 searches only groups with at least as many free clusters as the whole goal has. Group 6 is
  // the only such group.
  EXPECT_EQ(d.result.group, 6u);
  EXPECT_EQ(counters()[Criterion::cr2].extents_scanned, 40u);
}

TEST_F(Cr15, ShortExtentsAreNotExamined) {
  tunables.mb_group_prealloc = 300;
  free_runs(fs, 3, 4, 10, 2);
  fs.free(3, 1024, 1024);
  std::uint32_t found[2] = {};
  Extent results[2];
  int at = 0;
  for (const char* policy : {"legacy", "cr1.5"}) {
    rig.emplace(policy, fs, tunables);
    load_all(rig->state);
    const Decision d = rig->allocator.allocate(data_request(20, 1, 4096));
    EXPECT_EQ(d.criterion, Criterion::cr1);
    found[at] = d.found;
    results[at++] = d.result;
  }
  EXPECT_EQ(found[0], found[1] + 2);
  EXPECT_EQ(results[0], results[1]);
}

TEST_F(Cr15, IsSkippedWithoutOrderLists) {
  free_runs(fs, 3, 4, 200, 8);
  tunables.mb_optimize_scan = 0;
  const Decision d = ask(8);
  EXPECT_TRUE(went_on(d));
  EXPECT_EQ(counters()[Criterion::cr1_5].groups_considered, 0u);
}

TEST_F(Cr15, ExtentsAreCountedForTheCriterionThatLooked) {
  free_runs(fs, 3, 4, 200, 5);
  const Decision d = ask(8);
  ASSERT_EQ(d.criterion, Criterion::cr1_5);
  EXPECT_EQ(counters()[Criterion::cr1_5].extents_scanned, d.found);
  EXPECT_EQ(counters()[Criterion::cr1].extents_scanned, 0u);
  EXPECT_EQ(counters()[Criterion::cr2].extents_scanned, 0u);
  EXPECT_EQ(counters().extents_scanned, d.found);
}

TEST_F(Cr15, OnlyTheWholeGoalCountsAsALengthGoalHit) {
  free_runs(fs, 3, 4, 200, 5);
  (void)ask(8);
  EXPECT_EQ(counters().len_goal_hits, 0u);
  fs.free(4, 4, 1000);
  (void)ask(8);
  EXPECT_EQ(counters().len_goal_hits, 1u);
}

TEST(Criteria, ExtentsPerCriterionAddUp) {
  for (const allocator::Policy* policy : allocator::policies()) {
    ModelFs fs(model_shape("blocks_4k_forty_groups"));
    Rng rng(3);
    ModelFiles old = add_old_files(fs, rng, 8, 5000, 30);
    Rig rig(*policy, fs);
    Workload work(rig.allocator, fs, std::move(old), {.seed = 9});
    work.run(1500);
    const allocator::Counters& c = rig.allocator.counters();
    std::uint64_t sum = 0;
    for (const auto& per : c.by_criterion) sum += per.extents_scanned;
    EXPECT_LE(sum, c.extents_scanned) << policy->name;  // hits at the goal count for no criterion
    EXPECT_GE(sum + c.goal_hits, c.extents_scanned) << policy->name;
    EXPECT_GT(sum, 0u);
  }
}

// Tests read-ahead. Groups 0 to 7 are one flex group, so they are the first batch.
struct Prefetch : testing::Test {
  Prefetch() : fs(model_shape("blocks_4k_forty_groups")) {}
  std::string loaded_by(std::string_view policy, bool read_before = false) {
    Rig rig(policy, fs);
    if (read_before)
      for (std::uint32_t group = 0; group < 40; ++group)
        rig.state.mark_read(rig.state.group(group));
    EXPECT_TRUE(rig.allocator.allocate(metadata_request(1, 0)).success);
    std::string out;
    for (std::uint32_t group = 0; group < 40; ++group)
      if (!rig.state.group(group).need_init) out += std::to_string(group) + " ";
    return out;
  }
  ModelFs fs;
};

TEST_F(Prefetch, LoadsTheWholeBatchUninitialisedGroupsIncluded) {
  fs.group(3).block_uninit = fs.group(5).block_uninit = fs.group(8).block_uninit = true;
  EXPECT_EQ(loaded_by("cr1.5"), "0 1 2 3 4 5 6 7 ");
  // To decide whether to load a group, Linux 6.1 checks the descriptor of the next group by
  // mistake.
  EXPECT_EQ(loaded_by("legacy"), "0 1 3 5 6 ");
}

TEST_F(Prefetch, LoadsTheBatchEvenWhenItsBitmapsWereReadBefore) {
  EXPECT_EQ(loaded_by("cr1.5", true), "0 1 2 3 4 5 6 7 ");
  EXPECT_EQ(loaded_by("legacy", true), "0 ");
}

// The search walks to the last group. Read-ahead reads flex groups, which have eight groups each.
TEST_F(Prefetch, EveryBatchIsFinished) {
  for (std::uint32_t group = 0; group < 39; ++group) {
    fs.use(group, 0, 2048);
    fs.free(group, 10, 4);
  }
  const auto loaded = [&](std::string_view policy) {
    Rig rig(policy, fs);
    EXPECT_TRUE(rig.allocator.allocate(metadata_request(8, 0)).success);
    return rig.state.groups_loaded();
  };
  EXPECT_EQ(loaded("cr1.5"), 40u);
  EXPECT_EQ(loaded("legacy"), 8u) << "the last batch alone";
}

// No group is loaded. No group has a free extent of the goal's length until a test frees one.
struct Cr15Cold : testing::Test {
  Cr15Cold() : fs(model_shape("blocks_4k_forty_groups")) {
    fs.fill();
    for (std::uint32_t group = 0; group < 40; ++group) free_runs(fs, group, 4, 300, 4);
  }
  void make_good(std::uint32_t group) {
    free_runs(fs, group, 1300, 700, 1);
    fs.free(group, 4, 1996);
  }
  // Requests blocks for a large file. The goal is at the end of the previous large file. For the
  // first one, it is in group 0.
  Decision ask() { return ask(3 * kMiB, 0); }
  // Requests blocks for a small file. The goal is the beginning of the group.
  Decision ask_from(std::uint32_t group) { return ask(32 * kKiB, group); }
  Decision ask(std::uint64_t size, std::uint32_t goal) {
    if (!rig) rig.emplace("cr1.5", fs);
    allocator::Request request = data_request(++ino, 8, size);
    request.goal = fs.geometry().first_block(goal);
    return rig->allocator.allocate(request);
  }
  ModelFs fs;
  std::optional<Rig> rig;
  std::uint64_t ino = 20;
};

TEST_F(Cr15Cold, LoadsABatchBeforeItTrims) {
  make_good(12);
  const Decision d = ask();
  EXPECT_EQ(d.result.len, kGoal) << "of the second batch";
  EXPECT_EQ(d.criterion, Criterion::cr1);
}

TEST_F(Cr15Cold, LoadsNoMoreThanOneBatch) {
  make_good(30);
  const Decision d = ask();
  EXPECT_EQ(d.result.len, 256u) << "of the fourth, too far away for one search";
  EXPECT_EQ(d.criterion, Criterion::cr1_5);
}

TEST_F(Cr15Cold, LoadsTheNearestBatchFromTheGoalOn) {
  make_good(25);
  EXPECT_EQ(ask_from(17).result.group, 25u) << "read-ahead had 17 to 23";
}

TEST_F(Cr15Cold, GoesOnWithTheFirstGroupAfterTheLast) {
  make_good(3);
  EXPECT_EQ(ask_from(34).result.group, 3u) << "read-ahead had 34 to 39";
}

TEST_F(Cr15Cold, LooksAtTheFirstGroupOfABatchOnly) {
  fs.use(8, 0, 2048);
  make_good(12);
  EXPECT_EQ(ask().criterion, Criterion::cr1_5);
  EXPECT_TRUE(rig->state.group(12).need_init);
  EXPECT_FALSE(rig->state.group(16).need_init);
}

// Batches that begin with a full group are read after all others.
TEST_F(Cr15Cold, ACursorFindsTheRest) {
  fs.use(8, 0, 2048);
  make_good(12);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask().criterion, Criterion::cr1_5);
  EXPECT_EQ(ask().result.group, 12u);
  EXPECT_EQ(rig->state.groups_loaded(), 39u);
}

TEST_F(Prefetch, GroupsWithoutFreeClustersAreLeftOut) {
  fs.use(2, 0, 2048);
  EXPECT_EQ(loaded_by("cr1.5"), "0 1 3 4 5 6 7 ");
}

}  // namespace
}  // namespace e4r::test
