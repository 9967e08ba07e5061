// SPDX-License-Identifier: GPL-2.0-or-later
// Tests goals, preallocations and retries (ext4_mb_new_blocks, Linux 6.1).
#include "allocator/allocator.h"

#include <gtest/gtest.h>

#include <optional>

#include "support/model.h"

namespace e4r::test {
namespace {

using allocator::Decision;
using allocator::Mode;
using allocator::Request;
using allocator::SizeStep;
using mb::Criterion;

// Returns a request in stream mode, with the size step m4.
Request stream_request(std::uint64_t ino, std::uint32_t logical, std::uint32_t len) {
  Request r = data_request(ino, len, 0);
  r.inputs_exact = false;
  r.logical = logical;
  r.inputs = {Mode::stream, SizeStep::m4};  // chunks of 512 blocks
  return r;
}

Request small_request(std::uint64_t ino, std::uint32_t len, std::uint64_t goal = 0) {
  Request r = data_request(ino, len, 0);
  r.inputs_exact = false;
  r.goal = goal;
  r.inputs = {Mode::group, SizeStep::unknown};
  return r;
}

// Four groups of 4096 clusters of 4 KiB, all loaded and empty except for metadata.
struct AllocatorTest : testing::Test {
  AllocatorTest()
      : fs({.name = "plain", .groups = 4, .block_bits = 12, .clusters_per_group = 4096}) {
    tunables = allocator::defaults_for(fs.geometry());
  }
  void start(std::string_view policy = "legacy") {
    rig.emplace(policy, fs, tunables);
    load_all(rig->state);
  }
  Decision ask(const Request& request) {
    if (!rig) start();
    const Decision d = rig->allocator.allocate(request);
    for (const std::string& line : rig->state.check(3)) ADD_FAILURE() << line;
    return d;
  }
  [[nodiscard]] const allocator::Counters& counters() const { return rig->allocator.counters(); }
  // Returns the first file block of each preallocation of the inode, most recently used first.
  std::vector<std::uint32_t> inode_list(std::uint64_t ino) {
    std::vector<std::uint32_t> out;
    if (const auto* mine = rig->state.find_inode_preallocs(ino))
      for (const state::Prealloc& pa : mine->list) out.push_back(pa.logical);
    return out;
  }
  // Returns the free clusters of each preallocation in a bucket, in the order of the bucket.
  std::vector<std::uint32_t> bucket(std::uint32_t cpu, std::size_t index) {
    std::vector<std::uint32_t> out;
    for (const state::Prealloc& pa : rig->state.locality(cpu).buckets[index])
      out.push_back(pa.free);
    return out;
  }

  ModelFs fs;
  allocator::Tunables tunables;
  std::optional<Rig> rig;
};

using Numbers = std::vector<std::uint32_t>;

TEST_F(AllocatorTest, SmallFilesShareAGroupPreallocation) {
  const Decision first = ask(small_request(20, 3));
  EXPECT_FALSE(first.prealloc);
  EXPECT_EQ(first.goal.len, 512u);
  EXPECT_EQ(first.result.len, 512u);
  EXPECT_EQ(first.len, 3u);
  EXPECT_EQ(counters().preallocated, 512u);
  const Decision second = ask(small_request(21, 5));
  EXPECT_TRUE(second.prealloc);
  EXPECT_EQ(second.block, first.block + 3);
  EXPECT_EQ(second.result.len, 5u);
  EXPECT_EQ(bucket(0, 8), Numbers{504});
  Request elsewhere = small_request(22, 1);
  elsewhere.cpu = 1;
  EXPECT_FALSE(ask(elsewhere).prealloc) << "another CPU's";
}

TEST_F(AllocatorTest, AnExhaustedGroupPreallocationGoes) {
  tunables.mb_group_prealloc = 40;
  (void)ask(small_request(20, 30));
  EXPECT_EQ(bucket(0, 3), Numbers{10});
  EXPECT_TRUE(ask(small_request(21, 10)).prealloc);
  EXPECT_EQ(bucket(0, 3), Numbers{});
  EXPECT_TRUE(rig->state.group(0).preallocs.empty());
}

TEST_F(AllocatorTest, TheNearestLargeEnoughGroupPreallocationServes) {
  tunables.mb_group_prealloc = 40;
  start();
  const Decision low = ask(small_request(20, 30, 100));
  const Decision high = ask(small_request(21, 30, 3ull * 4096 + 2000));
  ASSERT_EQ(low.result.group, 0u);
  ASSERT_EQ(high.result.group, 3u);
  EXPECT_EQ(ask(small_request(22, 2, 3ull * 4096)).block, high.block + 30);
  EXPECT_EQ(ask(small_request(22, 2, 50)).block, low.block + 30);
  EXPECT_EQ(bucket(0, 3), (Numbers{8, 8}));
  EXPECT_FALSE(ask(small_request(23, 9, 50)).prealloc) << "none has nine left";
}

TEST_F(AllocatorTest, ABucketOfNineGivesItsSmallestBackUntilFiveAreLeft) {
  tunables.mb_group_prealloc = 40;
  // Each request leaves 8 to 15 clusters of its preallocation.
  for (const std::uint32_t len : {27u, 32u, 25u, 30u, 28u, 31u, 26u, 29u})
    EXPECT_FALSE(ask(small_request(20 + len, len)).prealloc);
  EXPECT_EQ(bucket(0, 3), (Numbers{8, 9, 10, 11, 12, 13, 14, 15}));
  (void)ask(small_request(90, 31));
  EXPECT_EQ(bucket(0, 3), (Numbers{9, 12, 13, 14, 15})) << "the new one stays";
  EXPECT_EQ(counters().discarded, 8u + 9 + 10 + 11);
}

TEST_F(AllocatorTest, AnInodeKeepsItsPreallocation) {
  const Decision first = ask(stream_request(20, 0, 8));
  EXPECT_EQ(first.result.len, 512u);
  EXPECT_EQ(first.len, 8u);
  const Decision second = ask(stream_request(20, 100, 8));
  EXPECT_TRUE(second.prealloc);
  EXPECT_EQ(second.block, first.block + 100);
  EXPECT_FALSE(ask(stream_request(21, 100, 8)).prealloc) << "another file";
  EXPECT_FALSE(ask(stream_request(20, 600, 8)).prealloc) << "another part of the file";
  // The request is longer than what remains of the preallocation, so it is served only in part.
  const Decision tail = ask(stream_request(20, 500, 50));
  EXPECT_TRUE(tail.prealloc);
  EXPECT_EQ(tail.len, 12u);
  const std::uint32_t free = rig->state.group(0).free;
  rig->allocator.discard_inode(20, 0);
  EXPECT_EQ(rig->state.group(0).free, free + (512 - 8 - 8 - 12) + 504);
  EXPECT_EQ(inode_list(20), Numbers{});
  EXPECT_EQ(inode_list(21), Numbers{0});
}

TEST_F(AllocatorTest, AUsedUpInodePreallocationGoes) {
  (void)ask(stream_request(20, 0, 8));
  const Decision rest = ask(stream_request(20, 8, 504));
  EXPECT_TRUE(rest.prealloc);
  EXPECT_EQ(rest.len, 504u);
  EXPECT_EQ(inode_list(20), Numbers{});
  EXPECT_TRUE(rig->state.group(0).preallocs.empty());
}

TEST_F(AllocatorTest, TheLeastRecentlyUsedPreallocationsAreTrimmed) {
  tunables.mb_max_inode_prealloc = 4;  // so the kernel keeps up to six
  for (std::uint32_t part = 0; part < 6; ++part) (void)ask(stream_request(20, part * 512, 8));
  EXPECT_EQ(inode_list(20), (Numbers{2560, 2048, 1536, 1024, 512, 0}));
  (void)ask(stream_request(20, 10, 1));
  EXPECT_EQ(inode_list(20), (Numbers{0, 2560, 2048, 1536, 1024, 512}));
  (void)ask(stream_request(20, 3072, 8));
  EXPECT_EQ(inode_list(20), (Numbers{3072, 0, 2560, 2048}));
  EXPECT_EQ(counters().discarded, 3u * 504);
  rig->allocator.discard_inode(20, 1);
  EXPECT_EQ(inode_list(20), (Numbers{3072, 0, 2560}));
}

struct PlaceCase {
  std::uint32_t asked, placed;
};

// The goal has 512 blocks, but the search finds only 100. The allocator can place them at the
// goal's end, at the goal's start, or at the request's start. It tries these places in this order,
// and uses the first place at which the blocks cover the request.
TEST_F(AllocatorTest, AShortFindIsPlacedInTheGoal) {
  for (const PlaceCase& c : {PlaceCase{0, 0},
                             {92, 0},
                             {93, 93},
                             {200, 200},
                             {411, 411},
                             {412, 412},
                             {450, 412},
                             {504, 412}}) {
    fs.fill();
    for (std::uint32_t group = 0; group < 4; ++group) free_runs(fs, group, 4, 100, 30);
    start();
    const Decision d = ask(stream_request(20, c.asked, 8));
    EXPECT_EQ(d.result.len, 100u);
    EXPECT_EQ(d.result.logical, c.placed) << c.asked;
    EXPECT_EQ(d.block, fs.geometry().block_of(d.result.group, d.result.start) + c.asked - c.placed);
  }
}

TEST_F(AllocatorTest, StreamsGoOnWhereTheLastOneEnded) {
  const Decision first = ask(stream_request(20, 0, 8));
  const Decision second = ask(stream_request(21, 0, 8));
  EXPECT_EQ(second.goal.group, first.result.group);
  EXPECT_EQ(second.goal.start, first.result.start);
  const Decision third = ask(stream_request(22, 0, 8));
  EXPECT_EQ(third.goal.start, second.result.start);
  // A file without stream allocation starts at its own goal.
  Request own = stream_request(23, 16, 8);
  own.inputs.mode = Mode::noprealloc;
  own.goal = 2 * 4096 + 77;
  const Decision d = ask(own);
  EXPECT_EQ(d.goal, (Extent{2, 77, 8, 16}));
  EXPECT_EQ(d.result.len, 8u) << "neither normalised nor preallocated";
  EXPECT_NE(d.flags & mb::hint_noprealloc, 0u);
}

TEST_F(AllocatorTest, MetadataIsNeitherNormalisedNorPreallocated) {
  (void)ask(small_request(20, 3));
  const Decision d = ask(metadata_request(1, 3 * 4096 + 9));
  EXPECT_FALSE(d.prealloc);
  EXPECT_EQ(d.goal, (Extent{3, 9, 1, 0}));
  EXPECT_EQ(d.result.group, 3u);
  EXPECT_EQ(d.result.len, 1u);
  EXPECT_EQ(counters().preallocated, 512u);
}

TEST_F(AllocatorTest, AGoalOutsideTheFileSystemIsTheFirstBlock) {
  EXPECT_EQ(ask(metadata_request(1, 4ull * 4096)).orig, (Extent{0, 0, 1, 0}));
}

TEST_F(AllocatorTest, ARequestIsNoLongerThanAGroup) {
  const Decision d = ask(metadata_request(100000, 0));
  EXPECT_EQ(d.orig.len, 4096u);
  EXPECT_TRUE(d.success);
}

Request at_goal(std::uint32_t len, std::uint64_t goal, std::uint32_t flags) {
  Request r = metadata_request(len, goal);
  r.flags = flags;
  return r;
}

TEST_F(AllocatorTest, TheGoalIsTakenWhenItIsFree) {
  const Decision d = ask(at_goal(10, 4096 + 333, mb::hint_try_goal));
  EXPECT_EQ(d.result, (Extent{1, 333, 10, 0}));
  EXPECT_EQ(d.found, 1u);
  EXPECT_EQ(d.groups_scanned, 0u);
  EXPECT_EQ(counters().goal_hits, 1u);
}

TEST_F(AllocatorTest, AShorterGoalIsTakenOnlyToMerge) {
  fs.use(1, 340, 10);
  start();
  EXPECT_NE(ask(at_goal(10, 4096 + 333, mb::hint_try_goal)).result.start, 333u);
  const Decision merged = ask(at_goal(10, 4096 + 333, mb::hint_try_goal | mb::hint_merge));
  EXPECT_EQ(merged.result, (Extent{1, 333, 7, 0}));
  EXPECT_EQ(merged.len, 7u);
}

TEST_F(AllocatorTest, GoalOnlyMeansNowhereElse) {
  fs.use(1, 333, 1);
  start();
  EXPECT_FALSE(ask(at_goal(10, 4096 + 333, mb::hint_goal_only)).success);
  EXPECT_TRUE(ask(at_goal(10, 4096 + 334, mb::hint_goal_only)).success);
}

// For a request with EXT4_MB_HINT_GOAL_ONLY, 6.1 uses a preallocation at any place. 6.4 and later
// use the preallocation only if it is at the request's goal.
TEST_F(AllocatorTest, AGoalThatMustBeMetMayPassThePreallocationOver) {
  for (const auto& [policy, passes] :
       {std::pair{"legacy", false}, std::pair{"linux-6.12", true}, std::pair{"linux-7.3", true}}) {
    start(policy);
    const Decision first = ask(stream_request(20, 0, 4));
    Request next = stream_request(20, 4, 4);
    next.flags |= mb::hint_goal_only;
    next.goal = 2 * 4096 + 1000;
    const Decision elsewhere = ask(next);
    EXPECT_EQ(elsewhere.prealloc, !passes) << policy;
    EXPECT_EQ(elsewhere.block, passes ? next.goal : first.block + 4) << policy;
    next.logical = 8;
    next.goal = first.block + 8;
    EXPECT_TRUE(ask(next).prealloc) << policy;
    next.logical = 508;  // the preallocation ends before the goal does
    next.len = 8;
    next.goal = first.block + 508;
    EXPECT_EQ(ask(next).prealloc, !passes) << policy;
  }
}

TEST_F(AllocatorTest, AStripeIsTakenAtTheGoalOnlyWhereItIsAligned) {
  tunables.mb_stripe = 16;
  start();
  EXPECT_NE(ask(at_goal(16, 4096 + 330, mb::hint_try_goal)).block, 4096u + 330);
  EXPECT_EQ(ask(at_goal(16, 4096 + 336, mb::hint_try_goal)).block, 4096u + 336);
  EXPECT_EQ(ask(at_goal(17, 4096 + 401, mb::hint_try_goal)).block, 4096u + 401) << "no stripe";
}

TEST_F(AllocatorTest, MultiplesOfTheStripeAreSearchedAligned) {
  tunables.mb_stripe = 24;
  fs.fill();
  fs.free(2, 101, 60);
  start();
  const Decision d = ask(metadata_request(48, 0));
  EXPECT_EQ(d.criterion, Criterion::cr1);
  const std::uint64_t block = fs.geometry().block_of(d.result.group, d.result.start);
  EXPECT_EQ(block % 24, 0u);
  EXPECT_EQ(block, 2u * 4096 + 112);  // the first multiple of 24 in the run
  EXPECT_EQ(d.found, 1u);
}

TEST_F(AllocatorTest, WithoutSpacePreallocationsAreGivenUpGroupByGroup) {
  fs.fill();
  for (std::uint32_t group = 0; group < 4; ++group) fs.free(group, 100, 50);
  tunables.mb_group_prealloc = 50;
  for (std::uint32_t cpu = 0; cpu < 4; ++cpu) {
    Request r = small_request(20 + cpu, 20);
    r.cpu = cpu;
    EXPECT_TRUE(ask(r).success);
  }
  // Only four preallocations are left, each with 30 clusters.
  const Decision d = ask(metadata_request(40, 0));
  EXPECT_TRUE(d.success);
  EXPECT_EQ(d.len, 30u);
  EXPECT_EQ(counters().discarded, 60u) << "two groups were enough";
  EXPECT_TRUE(rig->state.group(0).preallocs.empty());
  EXPECT_TRUE(rig->state.group(1).preallocs.empty());
  EXPECT_FALSE(rig->state.group(2).preallocs.empty());
  EXPECT_FALSE(rig->state.group(3).preallocs.empty());
  EXPECT_EQ(d.flags & mb::strict_check, 0u);
}

TEST_F(AllocatorTest, WithNothingToGiveUpItTriesOnceMore) {
  fs.fill();
  const Decision d = ask(metadata_request(1, 0));
  EXPECT_FALSE(d.success);
  EXPECT_NE(d.flags & mb::strict_check, 0u);
  // In both tries, CR3 considered every group and found nothing.
  EXPECT_EQ(counters()[Criterion::cr3].useless_loops, 2u);
  EXPECT_EQ(counters()[Criterion::cr3].groups_considered, 8u);
}

TEST_F(AllocatorTest, ABrokenGroupIsLeftAlone) {
  fs.group(0).corrupt = true;
  start();
  EXPECT_EQ(ask(metadata_request(1, 50)).result.group, 1u);
  EXPECT_NE(ask(at_goal(10, 333, mb::hint_try_goal)).result.group, 0u);
}

TEST_F(AllocatorTest, AllocatingInAGroupInitialisesItsBitmap) {
  fs.group(2).block_uninit = true;
  start();
  const std::uint32_t before = rig->state.group(2).free;
  (void)ask(metadata_request(5, 2ull * 4096));
  EXPECT_FALSE(rig->state.group(2).block_uninit);
  EXPECT_EQ(rig->state.group(2).disk_free, before - 5);
}

// A guide that dictates the allocator's result.
class Dictate : public allocator::Guide {
 public:
  Dictate(bool prealloc, const Extent& result) : choice_{prealloc, {}, result} {}
  Mode mode(Mode by_size, bool) override { return by_size; }
  SizeStep size(const allocator::Search&, const Request&, const state::InodePreallocs*,
                SizeStep likely) override {
    return likely;
  }
  bool accepts(const allocator::Choice& choice) override {
    asked.push_back(choice);
    return choice.prealloc == choice_.prealloc ? same_clusters(choice.result, choice_.result)
                                               : choice.result.len == 0 && !choice_.prealloc;
  }
  [[nodiscard]] const allocator::Choice& dictated() const override { return choice_; }

  std::vector<allocator::Choice> asked;

 private:
  allocator::Choice choice_;
};

TEST_F(AllocatorTest, ADictatedResultReplacesItsOwn) {
  fs.use(3, 1000, 2);
  start();
  Dictate guide(false, {3, 998, 10, 0});
  const Decision d = rig->allocator.allocate(metadata_request(10, 0), &guide);
  ASSERT_EQ(guide.asked.size(), 3u) << "no preallocation, what it would take, nothing";
  EXPECT_TRUE(guide.asked[0].prealloc);
  EXPECT_EQ(guide.asked[1].result.len, 10u);
  EXPECT_EQ(guide.asked[2].result.len, 0u);
  EXPECT_EQ(d.conflicts, 2u) << "clusters that were in use already";
  EXPECT_EQ(d.result, (Extent{3, 998, 10, 0}));
  EXPECT_EQ(d.block, 3u * 4096 + 998);
  for (const std::string& line : rig->state.check(3)) ADD_FAILURE() << line;
}

TEST_F(AllocatorTest, ADictatedPreallocationHitIsImposed) {
  start();
  Dictate guide(true, {1, 50, 4, 7});
  const Decision d = rig->allocator.allocate(small_request(20, 4), &guide);
  EXPECT_TRUE(d.prealloc);
  EXPECT_EQ(guide.asked.size(), 1u);
  EXPECT_EQ(d.block, 4096u + 50);
  EXPECT_TRUE(state::bitmap::all_set(rig->state.words(rig->state.group(1)), 50, 4));
}

TEST_F(AllocatorTest, AResultOfItsOwnThatIsAcceptedStays) {
  start();
  const Decision alone = rig->allocator.allocate(metadata_request(10, 0));
  start();
  Dictate guide(false, alone.result);
  const Decision d = rig->allocator.allocate(metadata_request(10, 0), &guide);
  EXPECT_EQ(d.result, alone.result);
  EXPECT_EQ(d.found, alone.found);
  EXPECT_EQ(d.conflicts, 0u);
  EXPECT_EQ(guide.asked.size(), 2u);
}

TEST_F(AllocatorTest, WhatASearchWouldFindIsNotTaken) {
  start();
  allocator::Counters counters;
  allocator::Search search(rig->state, tunables, counters);
  search.groups = rig->state.group_count();
  const Extent goal = {2, 0, 16, 0};
  search.orig = search.goal = goal;
  search.ino = 20;
  const Decision would = rig->allocator.would_find(search, {true, goal, {}, 0});
  EXPECT_TRUE(would.success);
  EXPECT_EQ(would.result.len, 16u);
  const auto& words = rig->state.words(rig->state.group(would.result.group));
  EXPECT_TRUE(state::bitmap::all_clear(words, would.result.start, 16));
  EXPECT_EQ(rig->allocator.counters().requests, 0u);
}

std::vector<std::uint32_t> read_groups(const state::FsState& state) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t group = 0; group < state.group_count(); ++group)
    if (state.group(group).read) out.push_back(group);
  return out;
}

TEST(ReadByOthers, RangesGoRoundTheEnd) {
  ModelFs fs(model_shape("blocks_4k_full_size"));
  Rig rig("legacy", fs);
  ASSERT_EQ(fs.geometry().groups, 3u);
  rig.allocator.mark_read(2, 1);
  EXPECT_EQ(read_groups(rig.state), (std::vector<std::uint32_t>{0, 2}));
  rig.allocator.mark_read(3, 1);  // a group that this image does not have
  rig.allocator.mark_read(0, 4);
  EXPECT_EQ(read_groups(rig.state), (std::vector<std::uint32_t>{0, 2}));
  rig.allocator.mark_read(0, 0);  // one batch with all groups
  EXPECT_EQ(read_groups(rig.state).size(), 3u);
}

TEST(ReadByOthers, AGroupLoadedByOthersShowsItsBatch) {
  ModelFs fs(model_shape("blocks_4k_full_size"));
  allocator::Tunables tunables = allocator::defaults_for(fs.geometry());
  tunables.mb_prefetch = 2;
  Rig rig("legacy", fs, tunables);
  rig.allocator.load_group(0);  // as the kernel does before a free in the group
  EXPECT_TRUE(read_groups(rig.state).empty());
  rig.allocator.load_by_others(0);  // already loaded, so nothing is read
  EXPECT_TRUE(read_groups(rig.state).empty());
  rig.allocator.load_by_others(2);
  EXPECT_EQ(read_groups(rig.state), (std::vector<std::uint32_t>{2}));
  rig.allocator.load_by_others(1);
  EXPECT_EQ(read_groups(rig.state), (std::vector<std::uint32_t>{0, 1, 2}));
}

}  // namespace
}  // namespace e4r::test
