// SPDX-License-Identifier: GPL-2.0-or-later
// Tests one by one the rules in which other kernels differ from 6.1. Most tests use Linux 6.5,
// 6.12.117, 6.14 and 7.3.4.
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "allocator/policy.h"
#include "support/full_groups.h"
#include "support/model.h"

namespace e4r::test {
namespace {

using allocator::Decision;
using mb::Criterion;

struct Kernels : FullGroups {
  void start(std::string_view policy = "linux-6.12") {
    rig.emplace(policy, fs, tunables);
    load_all(rig->state);
  }
  Decision ask(const allocator::Request& request) {
    if (!rig) start();
    return rig->allocator.allocate(request);
  }
  // Requests `len` clusters of a file of 3 MiB near `group`, so the goal has kGoal clusters.
  Decision ask_large(std::uint32_t len, std::uint32_t group = 0, std::uint64_t ino = 20) {
    allocator::Request r = data_request(ino, len, 3 * kMiB);
    r.goal = fs.geometry().first_block(group);
    return ask(r);
  }
};

// If a group leaves its class and returns, its new place depends on the kernel: a list has it at
// the end, a set has it at its old place.
TEST_F(Kernels, GroupsOfAClassComeInAscendingOrder) {
  for (const std::uint32_t group : {3u, 7u, 12u}) free_runs(fs, group, 4, 600, 2);
  for (const auto& [policy, second] :
       {std::pair{"linux-6.12", 3u}, std::pair{"linux-7.3", 3u}, std::pair{"linux-6.1", 7u}}) {
    start(policy);
    const Decision first = ask(metadata_request(512, 0));
    ASSERT_EQ(first.criterion, Criterion::cr1);
    ASSERT_EQ(first.result.group, 3u);
    ASSERT_TRUE(rig->state.free_clusters(3, first.result.start, 512, 1, true).ok());
    EXPECT_EQ(ask(metadata_request(512, 0)).result.group, second) << policy;
  }
}

// Up to 5.15.70, a search may take a group from the tree before it has tried the goal's group.
TEST_F(Kernels, TheTreeMayBeAskedBeforeTheGoal) {
  tunables.mb_max_linear_groups = 0;
  free_runs(fs, 3, 4, 400, 1);
  free_runs(fs, 7, 4, 600, 1);
  const std::uint64_t goal = fs.geometry().first_block(7);
  for (const auto& [policy, group] :
       {std::pair{"linux-5.15.33", 3u}, std::pair{"linux-5.15.71", 7u}}) {
    start(policy);
    EXPECT_EQ(ask(metadata_request(300, goal)).result.group, group) << policy;
  }
  // With one linear group, the goal's group is searched first.
  tunables.mb_max_linear_groups = 1;
  start("linux-5.15.33");
  EXPECT_EQ(ask(metadata_request(300, goal)).result.group, 7u);
}

// Up to 5.15.70, each change of a group moves it to the end of its list of largest orders, even if
// its order is the same.
TEST_F(Kernels, AGroupMayLoseItsPlaceOnAListWithoutANewOrder) {
  tunables.mb_max_linear_groups = 0;
  for (const std::uint32_t group : {3u, 7u}) free_runs(fs, group, 4, 600, 3);
  for (const auto& [policy, group] :
       {std::pair{"linux-5.15.33", 7u}, std::pair{"linux-5.15.71", 3u}}) {
    start(policy);
    ASSERT_EQ(ask(metadata_request(256, 0)).result.group, 3u) << policy;
    EXPECT_EQ(ask(metadata_request(256, 0)).result.group, group) << policy;
  }
}

// Up to 5.15.32, only searches for files without extents use the lists. All others walk.
TEST_F(Kernels, TheIndexMayServeFilesWithoutExtentsAlone) {
  tunables.mb_max_linear_groups = 0;
  free_runs(fs, 7, 4, 600, 1);
  for (const auto& [policy, considered] :
       {std::pair{"linux-5.15.0", 8u}, std::pair{"linux-5.15.33", 1u}}) {
    start(policy);
    EXPECT_EQ(ask(metadata_request(300, 0)).result.group, 7u) << policy;
    EXPECT_EQ(counters()[Criterion::cr1].groups_considered, considered) << policy;
  }
}

// After the last criterion has walked all groups without success, the kernel increments the number
// of the criterion. A hit is then counted under a number that belongs to no criterion.
TEST_F(Kernels, TheBestOfAWalkMayHaveTheNumberBehindTheLastCriterion) {
  free_runs(fs, 3, 4, 30, 1);
  free_runs(fs, 7, 4, 20, 1);
  for (const auto& [policy, criterion] :
       {std::pair{"linux-6.14", Criterion::cr3}, std::pair{"linux-6.12", Criterion::past_last},
        std::pair{"linux-7.3", Criterion::past_last}}) {
    start(policy);
    const Decision d = ask(metadata_request(100, 0));
    EXPECT_EQ(d.result.group, 3u) << policy;
    EXPECT_EQ(d.result.len, 30u) << policy;
    EXPECT_EQ(d.criterion, criterion) << policy;
    const bool past = criterion == Criterion::past_last;
    EXPECT_EQ(counters()[Criterion::cr3].hits, past ? 0u : 1u) << policy;
    EXPECT_EQ(counters()[Criterion::cr3].useless_loops, 1u) << policy;
    EXPECT_EQ(counters()[Criterion::cr0].useless_loops, past ? 1u : 0u) << policy;
    EXPECT_EQ(counters()[Criterion::past_last].hits, past ? 1u : 0u) << policy;
  }
}

// A search skips a group whose lock another CPU holds, except in the last criterion.
TEST_F(Kernels, AGroupWhoseLockIsHeldMayBePassedOver) {
  for (const std::uint32_t group : {3u, 7u}) free_runs(fs, group, 4, 600, 1);
  allocator::Request request = metadata_request(300, 0);
  request.inputs.passed_over.add(3);
  start("linux-7.3");
  EXPECT_EQ(ask(request).result.group, 7u);
  start("linux-6.14");
  EXPECT_EQ(ask(request).result.group, 3u);
}

// The lock may be free again when a later criterion visits the group.
TEST_F(Kernels, AGroupWhoseLockWasHeldMayBeFoundByALaterCriterion) {
  free_runs(fs, 3, 4, 600, 1);
  allocator::Request request = metadata_request(256, 0);
  for (const Criterion criterion : {Criterion::cr0, Criterion::cr1, Criterion::cr2}) {
    start("linux-7.3");
    const Decision d = ask(request);
    EXPECT_EQ(d.result.group, 3u);
    EXPECT_EQ(d.criterion, criterion);
    request.inputs.passed_over.add(3);
  }
}

TEST_F(Kernels, GroupsWhoseLocksAreHeldAreLeftForOthers) {
  for (const std::uint32_t group : {3u, 7u, 9u}) free_runs(fs, group, 4, 600, 1);
  allocator::HeldLocks held;
  held.set(3).set(7);
  allocator::Request request = metadata_request(300, 0);
  request.held = &held;
  start("linux-7.3");
  EXPECT_EQ(ask(request).result.group, 9u);
  EXPECT_EQ(counters().groups_left, 2u);
  held.set();
  EXPECT_TRUE(ask(request).success) << "the last criterion waits";
  start("linux-6.14");
  EXPECT_EQ(ask(request).result.group, 3u);
  EXPECT_EQ(counters().groups_left, 0u);
}

// The search goes through all classes in the groups from the goal's group to the last. Then it
// searches the groups before the goal's group.
TEST_F(Kernels, GroupsBeforeTheGoalsComeAfterEveryClass) {
  fs.free(2, 4, 1100);   // largest chunk: 512
  fs.free(15, 4, 2044);  // largest chunk: 1024
  for (const auto& [goal, found] : {std::pair{10u, 15u}, std::pair{1u, 2u}}) {
    start();
    const Decision d = ask(metadata_request(512, fs.geometry().first_block(goal)));
    EXPECT_EQ(d.criterion, Criterion::cr0);
    EXPECT_EQ(d.result.group, found) << "from group " << goal;
  }
}

TEST_F(Kernels, BestAvailTrimsOrderByOrder) {
  free_runs(fs, 3, 4, 100, 10);
  free_runs(fs, 7, 4, 200, 5);
  const Decision d = ask_large(8);
  EXPECT_EQ(d.criterion, Criterion::best_avail);
  EXPECT_EQ(d.result.group, 7u);
  EXPECT_EQ(d.goal.len, 128u);
  EXPECT_EQ(d.goal_len, kGoal);
  EXPECT_EQ(d.result.len, 128u);
  EXPECT_EQ(counters()[Criterion::best_avail].hits, 1u);
}

// A trace of a stock kernel shows the goal only after best-avail has trimmed it. So several file
// sizes can explain the same decision. They differ in the number of groups that CR1 considers.
TEST_F(Kernels, OfSizesThatLeadToTheSameDecisionCr1LooksAtOtherGroups) {
  free_runs(fs, 3, 4, 200, 5);
  for (const char* policy : {"linux-6.5", "linux-6.14", "linux-6.12", "linux-7.3"}) {
    std::uint64_t looks[2];
    Decision decisions[2];
    for (const std::size_t i : {0u, 1u}) {
      start(policy);
      allocator::Request r = data_request(20, 8, i == 0 ? 900 * kKiB : 3 * kMiB);
      r.logical = 24;
      r.left_logical = 23;
      r.left_block = 1;
      decisions[i] = ask(r);
      looks[i] = counters()[Criterion::cr1].groups_considered;
    }
    for (const Decision& d : decisions) {
      EXPECT_EQ(d.criterion, Criterion::best_avail) << policy;
      EXPECT_EQ(d.goal.len, 128u) << policy;
    }
    EXPECT_NE(decisions[0].goal_len, decisions[1].goal_len) << policy;
    EXPECT_EQ(decisions[0].result, decisions[1].result) << policy;
    EXPECT_EQ(decisions[0].found, decisions[1].found) << policy;
    EXPECT_GT(looks[0], looks[1]) << policy;
  }
}

TEST_F(Kernels, BestAvailGoesNoFurtherThanItsLimit) {
  free_runs(fs, 3, 4, 100, 10);
  tunables.mb_best_avail_max_trim_order = 2;
  const Decision d = ask_large(8);
  EXPECT_GT(d.criterion, Criterion::best_avail);
  EXPECT_EQ(d.goal.len, kGoal) << "the goal is whole again";
}

// If best-avail trims a very long goal down to one cluster, it tries every class. The list of
// classes to try must have space for all of them.
TEST_F(Kernels, AGoalBeyondEveryOrderMayBeTrimmedToOneCluster) {
  tunables.mb_best_avail_max_trim_order = 64;
  for (const ModelShape& any : model_shapes()) {
    ModelFs full(any);
    full.fill();
    for (const std::uint64_t goal : {1ull << 18, 1ull << 19, 1ull << 20, (1ull << 31) - 1}) {
      tunables.mb_group_prealloc = goal;
      for (const char* policy : {"linux-6.5", "linux-6.12", "linux-7.3"}) {
        Rig asked(policy, full, tunables);
        load_all(asked.state);
        EXPECT_FALSE(asked.allocator.allocate(data_request(20, 1, 1)).success);
      }
    }
  }
}

TEST_F(Kernels, RequestsWithoutDataAreNotTrimmed) {
  free_runs(fs, 7, 4, 200, 5);
  const Decision d = ask(metadata_request(300, 0));
  EXPECT_EQ(counters()[Criterion::best_avail].groups_considered, 0u);
  EXPECT_EQ(counters()[Criterion::cr2].groups_considered, 20u);
  EXPECT_EQ(d.result.len, 200u) << "the best there is, after all";
}

// Without sets, best-avail walks the groups a second time with the whole goal, for every request.
TEST_F(Kernels, WalkingTriesBestAvailWithoutTrimming) {
  free_runs(fs, 7, 4, 200, 5);
  tunables.mb_optimize_scan = 0;
  const Decision d = ask(metadata_request(300, 0));
  EXPECT_EQ(d.goal.len, 300u);
  EXPECT_EQ(counters()[Criterion::best_avail].groups_considered, 20u);
}

// ext4_mb_normalize_group_request does not set ac_orig_goal_len. After best-avail, the goal of a
// group preallocation is the requested length.
TEST_F(Kernels, AGroupPreallocationIsForgottenBehindBestAvail) {
  free_runs(fs, 7, 4, 20, 60);
  const Decision d = ask(data_request(20, 3, 100));
  EXPECT_EQ(d.criterion, Criterion::cr2);
  EXPECT_EQ(d.goal.len, 3u);
  EXPECT_EQ(d.result.len, 3u);
  EXPECT_EQ(counters().preallocated, 0u);
  for (const char* remembers : {"cr1.5", "linux-7.3-group-goal"}) {
    start(remembers);
    EXPECT_EQ(ask(data_request(20, 3, 100)).goal.len, kGoal) << remembers;
  }
}

TEST_F(Kernels, ShortExtentsAreSteppedOverInTheFastCriteria) {
  free_runs(fs, 3, 4, 10, 4);
  fs.free(3, 100, 1900);
  start();
  const Decision d = ask(metadata_request(300, 0));
  EXPECT_EQ(d.criterion, Criterion::cr1);
  // A free extent is examined in pieces. A piece consists of as many buddy chunks as are needed to
  // cover the goal.
  EXPECT_EQ(counters()[Criterion::cr1].extents_scanned, d.found);
  EXPECT_GE(d.result.start, 100u);
  start("linux-6.1");
  EXPECT_GT(ask(metadata_request(300, 0)).found, d.found);
}

TEST_F(Kernels, LinearGroupsAreSoManyWithTheGoalsOwn) {
  fs.free(2, 4, 1100);
  tunables.mb_max_linear_groups = 2;
  (void)ask(metadata_request(512, 0));
  // The search walks groups 0 and 1. It counts group 2 twice: once in its class, and again when it
  // searches the group.
  EXPECT_EQ(counters()[Criterion::cr0].groups_considered, 4u);
}

// If all groups are linear groups, a complete walk leads to the next criterion. The kernel then
// uses the classes of that criterion, without another walk.
TEST_F(Kernels, OnceRoundAllGroupsLeadsToTheNextCriterionsClasses) {
  free_runs(fs, 7, 4, 200, 5);
  tunables.mb_max_linear_groups = 20;
  const Decision d = ask_large(8);
  EXPECT_EQ(d.goal.len, kGoal);
  EXPECT_EQ(d.criterion, Criterion::past_last);
  EXPECT_EQ(counters()[Criterion::cr0].useless_loops, 2u) << "its own, and the hit of past_last";
  EXPECT_EQ(counters()[Criterion::cr0].groups_considered, 20u);
  EXPECT_EQ(counters()[Criterion::cr1].groups_considered, 0u) << "no class, and not walked";
  EXPECT_EQ(counters()[Criterion::best_avail].useless_loops, 1u);
}

TEST_F(Kernels, AHugeNumberOfLinearGroupsEnds) {
  tunables.mb_max_linear_groups = 2'000'000'000;
  EXPECT_FALSE(ask_large(8).success);
  EXPECT_GE(counters()[Criterion::cr1].groups_considered, 2'000'000'000u);
}

TEST_F(Kernels, StreamsOfOneHashGoOnWhereItsLastEnded) {
  for (const std::uint32_t group : {3u, 9u}) free_runs(fs, group, 4, 600, 3);
  tunables.possible_cpus = 2;
  start("linux-7.3");
  EXPECT_EQ(ask_large(300, 0, 20).result.group, 3u);
  const Decision other = ask_large(300, 0, 21);
  EXPECT_EQ(other.goal.group, 0u) << "inode 21 has another goal";
  EXPECT_EQ(other.goal.start, UINT32_MAX) << "printed as -1";
  const Decision same = ask_large(300, 0, 22);
  EXPECT_EQ(same.goal.group, 3u);
  EXPECT_EQ(counters().stream_goal_hits, 1u);
}

TEST_F(Kernels, AsManyStreamGoalsAsAQuarterOfTheGroupsAtMost) {
  for (const std::uint32_t group : {3u, 9u}) free_runs(fs, group, 4, 600, 3);
  tunables.possible_cpus = 64;  // five goals for twenty groups
  start("linux-7.3");
  (void)ask_large(300, 0, 20);
  EXPECT_EQ(ask_large(300, 0, 25).goal.group, 3u);
  EXPECT_EQ(ask_large(300, 0, 26).goal.group, 0u);
}

// The preallocations of an inode are in a tree ordered by file block. The kernel releases the one
// with the highest block first, and does not limit their number.
TEST_F(Kernels, AnInodesPreallocationsAreKeptByFileBlock) {
  free_runs(fs, 3, 4, 1000, 2);
  tunables.mb_max_inode_prealloc = 0;
  start();
  for (const std::uint32_t logical : {0u, 8192u, 4096u}) {
    allocator::Request r = data_request(20, 1, 60 * kMiB);
    r.logical = logical;
    (void)ask(r);
  }
  const auto* mine = rig->state.find_inode_preallocs(20);
  ASSERT_NE(mine, nullptr);
  EXPECT_EQ(mine->active, 3u);
  EXPECT_GT(counters().preallocated, 0u);
  rig->allocator.discard_inode(20, 1);
  EXPECT_EQ(rig->state.find_inode_preallocs(20), nullptr) << "all go, whatever is asked for";
  for (const std::string& line : rig->state.check(3)) ADD_FAILURE() << line;
}

TEST_F(Kernels, PreallocatedCountsWhatTheRequestTakesToo) {
  fs.free(3, 4, 1000);
  const Decision d = ask_large(100);
  EXPECT_EQ(counters().preallocated, d.result.len);
  start("linux-6.1");
  const Decision before = ask_large(100);
  EXPECT_EQ(before.result.len, counters().preallocated + 100);
}

// best-avail gets groups from the lists. If such a group could not serve the request, the kernel
// would count a bad suggestion.
TEST_F(Kernels, BestAvailAsksTheLists) {
  free_runs(fs, 7, 4, 200, 5);
  start("linux-6.5");
  const Decision d = ask_large(8);
  EXPECT_EQ(d.criterion, Criterion::best_avail);
  EXPECT_EQ(d.result.group, 7u);
  EXPECT_EQ(d.goal.len, 128u);
  EXPECT_EQ(counters()[Criterion::best_avail].bad_suggestions, 0u);
}

// Before 7.0, the search for files without extents walks from group to group.
TEST_F(Kernels, FilesWithoutExtentsMayHaveToWalk) {
  ModelShape shape = Kernels::shape();
  shape.extents = false;
  ModelFs plain(shape);
  plain.fill();
  plain.free(12, 4, 1000);
  for (const auto& [policy, looks] : {std::pair{"linux-6.5", 13u}, std::pair{"linux-6.12", 2u}}) {
    Rig walked(policy, plain, tunables);
    load_all(walked.state);
    const Decision d = walked.allocator.allocate(metadata_request(300, 0));
    EXPECT_EQ(d.result.group, 12u);
    EXPECT_EQ(walked.allocator.counters()[Criterion::cr1].groups_considered, looks) << policy;
  }
}

// 6.5 tries best-avail for every request, even if the goal cannot be trimmed. For requests without
// HINT_DATA, later kernels with lists try it only after CR1 has considered as many groups as exist.
// Kernels with sets never try it for such requests.
TEST_F(Kernels, BestAvailMayComeForRequestsWithoutData) {
  ModelShape shape = Kernels::shape();
  shape.extents = false;
  ModelFs walked(shape);  // the search for files without extents walks
  walked.fill();
  for (ModelFs* each : {&fs, &walked}) free_runs(*each, 7, 4, 200, 5);
  const auto looks = [&](std::string_view policy, ModelFs& on) {
    Rig asked(policy, on, tunables);
    load_all(asked.state);
    const Decision d = asked.allocator.allocate(metadata_request(300, 0));
    EXPECT_GT(d.criterion, Criterion::best_avail) << policy;
    EXPECT_EQ(d.goal.len, 300u) << policy;
    return asked.allocator.counters()[Criterion::best_avail].groups_considered;
  };
  EXPECT_EQ(looks("linux-6.5", fs), 1u) << "the goal's own group";
  EXPECT_EQ(looks("linux-6.5", walked), 20u);
  EXPECT_EQ(looks("linux-6.14", fs), 0u);
  EXPECT_EQ(looks("linux-6.14", walked), 20u);
  for (const char* policy : {"linux-6.12", "linux-7.3"}) {
    EXPECT_EQ(looks(policy, fs), 0u) << policy;
    EXPECT_EQ(looks(policy, walked), 0u) << policy;
  }
}

// If a group has no aligned extent, most kernels search it for any other extent. 6.5 does not, so
// its lists suggest the same group again, until the search has considered as many groups as exist.
TEST_F(Kernels, AGroupWithoutAnAlignedExtentMayBeSearchedOn) {
  fs.free(3, 16 + 1, 20);
  tunables.mb_stripe = 16;
  for (const auto& [policy, criterion, loops] :
       {std::tuple{"linux-6.5", Criterion::cr2, 1u}, std::tuple{"linux-6.14", Criterion::cr1, 0u},
        std::tuple{"linux-6.12", Criterion::cr1, 0u}}) {
    start(policy);
    const Decision d = ask(metadata_request(16, 0));
    EXPECT_EQ(d.criterion, criterion) << policy;
    EXPECT_EQ(d.result.group, 3u) << policy;
    EXPECT_EQ(counters()[Criterion::cr1].useless_loops, loops) << policy;
    EXPECT_EQ(counters()[Criterion::best_avail].useless_loops, loops) << policy;
  }
}

// CR0 uses up mb_prefetch_limit, so CR1 reads nothing. 6.5 then finishes a wrong batch: it is as
// long as CR0's batch, but it consists of the groups just before the one at which CR1 began.
TEST_F(Kernels, ReadAheadMayRememberTheBatchOfTheCriterionBefore) {
  for (std::uint32_t group = 0; group < 20; ++group)
    group == 12 ? fs.free(group, 100, 600) : fs.free(group, 4, 1);
  tunables.mb_prefetch = 4;
  tunables.mb_prefetch_limit = 3;  // the batch needs three reads, because group 12 is loaded
  for (const auto& [policy, finished] :
       {std::pair{"linux-6.5", true}, std::pair{"linux-6.14", false}}) {
    rig.emplace(policy, fs, tunables);
    rig->allocator.load_group(12);
    const Decision d = ask(metadata_request(512, fs.geometry().first_block(10)));
    ASSERT_EQ(d.criterion, Criterion::cr1) << policy;
    for (std::uint32_t group = 0; group < 20; ++group) {
      const bool loaded = group == 12 || (finished && group >= 6 && group < 10);
      EXPECT_EQ(rig->state.group(group).need_init, !loaded) << policy << " " << group;
    }
  }
}

// After best-avail has walked all groups, 6.5 and 6.14 restore the original goal. For a group
// preallocation, this is only the requested length. 6.12 restores nothing after a walk.
TEST_F(Kernels, AWalkMayPutTheGoalBack) {
  free_runs(fs, 7, 4, 20, 60);
  tunables.mb_optimize_scan = 0;
  for (const auto& [policy, goal, criterion] :
       {std::tuple{"linux-6.5", 3u, Criterion::cr2}, std::tuple{"linux-6.14", 3u, Criterion::cr2},
        std::tuple{"linux-6.12", kGoal, Criterion::past_last},
        std::tuple{"linux-7.3", kGoal, Criterion::past_last}}) {
    start(policy);
    const Decision d = ask(data_request(20, 3, 100));
    EXPECT_EQ(d.criterion, criterion) << policy;
    EXPECT_EQ(d.goal.len, goal) << policy;
  }
}

// A walk that finds an extent does not reach the last group.
TEST_F(Kernels, AWalkThatFindsKeepsItsGoal) {
  free_runs(fs, 7, 4, 600, 3);
  tunables.mb_optimize_scan = 0;
  for (const char* policy : {"linux-6.5", "linux-6.14"}) {
    start(policy);
    const Decision d = ask(data_request(20, 3, 100));
    EXPECT_EQ(d.criterion, Criterion::cr1) << policy;
    EXPECT_EQ(d.goal.len, kGoal) << policy;
  }
}

// If a group becomes full, 6.5 and 6.14 leave it on its average-fragment list, where CR1 considers
// it without success. 6.1 removes it from the list.
TEST_F(Kernels, FullGroupsMayStayListed) {
  for (const std::uint32_t group : {3u, 7u}) free_runs(fs, group, 4, 512, 1);
  for (const auto& [policy, full] :
       {std::pair{"linux-6.5", 1u}, std::pair{"linux-6.14", 1u}, std::pair{"linux-6.1", 0u}}) {
    start(policy);
    ASSERT_EQ(ask(metadata_request(512, 0)).result.group, 3u) << policy;
    const std::uint64_t before = counters()[Criterion::cr1].groups_considered;
    const Decision d = ask(metadata_request(512, 0));
    EXPECT_EQ(d.criterion, Criterion::cr1) << policy;
    EXPECT_EQ(d.result.group, 7u) << policy;
    // CR1 counts the goal's group, the full group, and group 7 twice: on the list, and when it
    // searches the group.
    EXPECT_EQ(counters()[Criterion::cr1].groups_considered - before, 3u + full) << policy;
    for (const std::string& line : rig->state.check(1)) ADD_FAILURE() << policy << ": " << line;
    // If a full group has stayed on its list, it still has its old place when some of its clusters
    // become free.
    ASSERT_TRUE(rig->state.free_clusters(7, d.result.start, 512, 1, true).ok());
    ASSERT_TRUE(rig->state.free_clusters(3, 4, 512, 1, true).ok());
    EXPECT_EQ(ask(metadata_request(512, 0)).result.group, full != 0 ? 3u : 7u) << policy;
  }
}

// The request is for blocks 100 to 249, and the goal has 512 blocks, but the search finds only 200.
// If these were placed at the goal's start, they would cover the request's start but not its end.
TEST_F(Kernels, AShortFindIsKeptAtTheGoalsStartByOneOfTwoRules) {
  free_runs(fs, 7, 4, 200, 5);
  for (const auto& [policy, at, served] :
       {std::tuple{"linux-6.5", 0u, 100u}, std::tuple{"linux-6.14", 100u, 150u},
        std::tuple{"linux-6.12", 100u, 150u}, std::tuple{"linux-6.1", 100u, 150u}}) {
    start(policy);
    allocator::Request r = data_request(20, 150, 3 * kMiB);
    r.logical = 100;
    const Decision d = ask(r);
    EXPECT_EQ(d.goal.logical, 0u) << policy;
    EXPECT_EQ(d.len, served) << policy;
    for (const std::string& line : rig->state.check(1)) ADD_FAILURE() << policy << ": " << line;
    // The found extent serves the next request for blocks that it covers.
    allocator::Request next = data_request(20, 1, 3 * kMiB);
    next.logical = at == 0 ? 0 : 250;
    const Decision hit = ask(next);
    EXPECT_TRUE(hit.prealloc) << policy;
    EXPECT_EQ(hit.result.group, 7u) << policy;
  }
}

TEST(Policies, AReleaseFitsThePolicyOfItsRange) {
  const auto fits = [](std::string_view release) {
    std::string out;
    for (const allocator::Policy* policy : allocator::policies())
      if (allocator::stands_for(*policy, release)) out += std::string(policy->name) + " ";
    return out;
  };
  EXPECT_EQ(fits("6.18.44-foo"), "linux-6.17 linux-7.3 ");
  EXPECT_EQ(fits("7.3.4"), "linux-7.3 ");
  EXPECT_EQ(fits("6.12.80"), "linux-6.12.77 ");
  EXPECT_EQ(fits("6.12.76"), "linux-6.12.43 ");
  EXPECT_EQ(fits("6.5"), "linux-6.5 ");
  EXPECT_EQ(fits("6.14.0+"), "linux-6.14 ");
  EXPECT_EQ(fits("6.1.192"), "legacy ");
  EXPECT_EQ(fits("5.4.200"), "el8 ");
  EXPECT_EQ(fits("5.15.201"), "linux-5.10.215 linux-5.15.154 ");
  EXPECT_EQ(fits("5.15.215"), "linux-5.10.215 linux-5.15.202 ");
  EXPECT_EQ(fits("6.1.164"), "linux-6.1.149 ");
  EXPECT_EQ(fits("6.6.127"), "linux-6.6.103 ");
  EXPECT_EQ(fits("6.6.128"), "linux-6.6.128 ");
  for (const char* no : {"", "6", "6.", "x6.5", "6.5.x", "99999999999.1"}) EXPECT_EQ(fits(no), "");
}

// The release string of some distributions does not show the stable release. Their kernels may have
// any release of the series.
TEST(Policies, ABuildFitsThePolicyOfItsVendor) {
  const auto fits = [](std::string_view policy, std::string_view release) {
    return allocator::stands_for(*allocator::find_policy(policy), release);
  };
  EXPECT_TRUE(fits("el8", "4.18.0-553.66.1.el8_10.x86_64"));
  EXPECT_TRUE(fits("el9_2", "5.14.0-284.30.1.el9_2.x86_64"));
  EXPECT_FALSE(fits("el9_2", "5.14.0-427.42.1.el9_4.x86_64"));
  EXPECT_TRUE(fits("el9_4", "5.14.0-427.42.1.el9_4.x86_64"));
  EXPECT_FALSE(fits("linux-5.15.0", "5.14.0-427.42.1.el9_4.x86_64"));
  EXPECT_TRUE(fits("el9_4", "5.14.0-503.el9.x86_64"));
  EXPECT_TRUE(fits("el10_0", "6.12.0-55.24.1.el10_0.x86_64"));
  EXPECT_FALSE(fits("linux-6.12", "6.12.0-55.24.1.el10_0.x86_64"));
  for (const char* policy :
       {"linux-5.15.0", "linux-5.15.71", "linux-5.15.113", "linux-5.15.154", "linux-5.15"})
    EXPECT_TRUE(fits(policy, "5.15.0-139-generic")) << policy;
  EXPECT_FALSE(fits("linux-6.1", "5.15.0-139-generic"));
  // This vendor's release has the form of an upstream release, so its upstream policy fits.
  EXPECT_TRUE(fits("linux-5.15", "5.15.0-200.131.27.el8uek.x86_64"));
  EXPECT_FALSE(fits("el8", "5.15.0-200.131.27.el8uek.x86_64"));
}

TEST(Policies, ABuildNamesItsPolicy) {
  EXPECT_EQ(allocator::find_policy("el10_0"), allocator::find_policy("linux-6.14"));
  EXPECT_EQ(allocator::find_policy("el10_2"), allocator::find_policy("linux-6.17"));
  EXPECT_EQ(allocator::find_policy("el9_3"), allocator::find_policy("linux-6.1.0"));
  EXPECT_EQ(allocator::find_policy("el9_9"), nullptr);
  EXPECT_TRUE(allocator::other_names(*allocator::find_policy("el9_4")).empty());
  // Each name must select one policy.
  std::set<std::string_view> names;
  for (const allocator::Policy* policy : allocator::policies()) {
    EXPECT_TRUE(names.insert(policy->name).second) << policy->name;
    for (const std::string_view other : allocator::other_names(*policy))
      EXPECT_TRUE(names.insert(other).second) << other;
  }
}

TEST(Policies, ANameAndItsAliasAreOnePolicy) {
  EXPECT_EQ(allocator::find_policy("linux-6.1"), allocator::find_policy("legacy"));
  EXPECT_EQ(allocator::find_policy("linux-6.12"), allocator::find_policy("linux-6.12.77"));
  EXPECT_EQ(allocator::find_policy("linux-6.12")->name, "linux-6.12.77");
  EXPECT_EQ(allocator::find_policy("linux-6.12.0"), allocator::find_policy("linux-6.14"));
  EXPECT_EQ(allocator::find_policy(""), nullptr);
  EXPECT_EQ(allocator::find_policy("linux-9.9"), nullptr);
}

}  // namespace
}  // namespace e4r::test
