// SPDX-License-Identifier: GPL-2.0-or-later
// Tests which groups a search considers, and which of them it loads.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "support/model.h"

namespace e4r::test {
namespace {

using allocator::Decision;
using mb::Criterion;

std::string loaded(const state::FsState& state) {
  std::string out;
  for (std::uint32_t group = 0; group < state.group_count(); ++group)
    if (!state.group(group).need_init) out += std::to_string(group) + " ";
  return out;
}

struct LoadOrder : allocator::SearchObserver {
  void on_load(std::uint32_t group) override { order += std::to_string(group) + " "; }
  std::string order;
};

ModelShape shape(std::uint32_t log_flex, std::uint32_t block_bits = 12) {
  return {.name = "plain",
          .groups = 20,
          .block_bits = block_bits,
          .clusters_per_group = 2048,
          .log_flex = log_flex};
}

struct SearchTest : testing::Test {
  void make(const ModelShape& s) {
    fs.emplace(s);
    tunables = allocator::defaults_for(fs->geometry());
  }
  Decision ask(std::uint32_t len, std::uint32_t group, std::string_view policy = "legacy",
               allocator::SearchObserver* observer = nullptr) {
    if (!rig) rig.emplace(policy, *fs, tunables);
    rig->allocator.observe(observer);
    return rig->allocator.allocate(metadata_request(len, fs->geometry().first_block(group)));
  }
  std::optional<ModelFs> fs;
  allocator::Tunables tunables;
  std::optional<Rig> rig;
};

TEST_F(SearchTest, FastRungsPassUnloadedGroupsOver) {
  make(shape(0));
  tunables.mb_prefetch = 0;
  const Decision d = ask(3, 5);
  EXPECT_EQ(d.criterion, Criterion::cr2) << "CR1 does not read bitmaps";
  EXPECT_EQ(loaded(rig->state), "5 ");
  EXPECT_EQ(ask(3, 5).criterion, Criterion::cr1) << "now it is loaded";
}

TEST_F(SearchTest, UninitialisedGroupsNeedNoReading) {
  make(shape(0));
  tunables.mb_prefetch = 0;
  fs->group(5).block_uninit = true;
  EXPECT_EQ(ask(3, 5).criterion, Criterion::cr1);
  EXPECT_EQ(loaded(rig->state), "5 ");
}

TEST_F(SearchTest, WithoutDescriptorChecksumsUninitialisedMeansNothing) {
  ModelShape s = shape(0);
  s.desc_csum = false;
  make(s);
  tunables.mb_prefetch = 0;
  fs->group(5).block_uninit = true;
  EXPECT_EQ(ask(3, 5).criterion, Criterion::cr2);
}

TEST_F(SearchTest, TheFirstGroupOfAFlexGroupIsAlwaysLoaded) {
  make(shape(2));
  tunables.mb_prefetch = 0;
  EXPECT_EQ(ask(3, 8).criterion, Criterion::cr1);
  EXPECT_EQ(loaded(rig->state), "8 ");
  EXPECT_EQ(ask(3, 9).criterion, Criterion::cr1) << "the lists lead to group 8";
  EXPECT_EQ(loaded(rig->state), "8 ");
}

TEST_F(SearchTest, SmallBlocksLoadTwoGroupsAtATime) {
  make(shape(0, 10));
  tunables.mb_prefetch = 0;
  LoadOrder loads;
  (void)ask(3, 7, "legacy", &loads);
  EXPECT_EQ(loaded(rig->state), "6 7 ");
  EXPECT_EQ(loads.order, "6 7 ") << "the order in which the kernel locks them";
  make(shape(0, 11));
  tunables.mb_prefetch = 0;
  rig.reset();
  (void)ask(3, 7);
  EXPECT_EQ(loaded(rig->state), "7 ");
}

TEST_F(SearchTest, ReadAheadLoadsABatchFromTheGoalOn) {
  make(shape(0));
  tunables.mb_prefetch = 4;
  rig.emplace("legacy", *fs, tunables);
  rig->state.load(18);
  (void)ask(3, 18);
  EXPECT_EQ(loaded(rig->state), "0 1 18 19 ") << "around the end";
}

// The next criterion starts the same batch of bitmaps, finds that it has already been read, and has
// no batch to finish.
TEST_F(SearchTest, ABatchThatTheNextRungMeetsAgainIsForgotten) {
  make(shape(0));
  tunables.mb_prefetch = 4;
  EXPECT_EQ(ask(3, 18).criterion, Criterion::cr2);
  EXPECT_EQ(loaded(rig->state), "18 ");
  EXPECT_EQ(rig->state.groups_unread(), 16u);
}

TEST_F(SearchTest, ReadAheadStaysInTheFlexGroup) {
  make(shape(2));
  (void)ask(3, 8);
  EXPECT_EQ(loaded(rig->state), "8 9 10 11 ");
}

TEST_F(SearchTest, ABatchIsReadOnlyOnce) {
  make(shape(0));
  tunables.mb_prefetch = 4;
  rig.emplace("legacy", *fs, tunables);
  for (std::uint32_t group = 5; group < 9; ++group) rig->state.mark_read(rig->state.group(group));
  (void)ask(3, 5);
  EXPECT_EQ(loaded(rig->state), "5 ") << "nothing was read, so nothing is finished";
}

// A group has no bitmap on disk. When an inode is made in it, the kernel makes the bitmap in
// memory.
TEST_F(SearchTest, WhatWasMadeForAnInodeIsNotRead) {
  make(shape(0));
  tunables.mb_prefetch = 4;
  for (std::uint32_t group = 6; group < 9; ++group) fs->group(group).block_uninit = true;
  rig.emplace("legacy", *fs, tunables);
  rig->state.load(5);
  const std::uint64_t inodes = fs->geometry().inodes_per_group;
  for (std::uint64_t group = 6; group < 9; ++group) rig->state.note_made(group * inodes + 1);
  (void)ask(3, 5);
  EXPECT_EQ(loaded(rig->state), "5 ") << "nothing was read, so nothing is finished";
}

TEST_F(SearchTest, FastRungsReadAheadUpToALimit) {
  make(shape(0));
  for (std::uint32_t group = 0; group < 20; ++group) fs->use(group, 0, 2044);  // leaves four free
  tunables.mb_prefetch = 2;
  tunables.mb_prefetch_limit = 3;
  tunables.mb_optimize_scan = 0;
  // CR1 walks all groups without success and reads two batches of two. CR2 and CR3 read the rest.
  const Decision d = ask(7, 0, "linear");
  EXPECT_TRUE(d.success);
  EXPECT_EQ(rig->state.groups_unread(), 0u);
  EXPECT_EQ(d.len, 4u);
}

TEST_F(SearchTest, ListsLeadToTheGroupThatEnteredFirst) {
  for (const std::uint32_t linear : {0u, 4u}) {
    make(shape(0));
    fs->fill();
    free_runs(*fs, 9, 4, 20, 10);
    free_runs(*fs, 3, 4, 20, 10);
    tunables.mb_max_linear_groups = linear;
    rig.emplace("legacy", *fs, tunables);
    rig->state.load(9);
    load_all(rig->state);
    const Decision d = ask(7, 0);
    // If four groups are walked first, the search reaches group 3 before any group from the lists.
    EXPECT_EQ(d.result.group, linear == 0 ? 9u : 3u);
    EXPECT_EQ(d.criterion, Criterion::cr1);
  }
}

TEST_F(SearchTest, WithoutListsGroupsAreWalked) {
  make(shape(0));
  fs->fill();
  free_runs(*fs, 9, 4, 20, 10);
  free_runs(*fs, 13, 4, 20, 10);
  rig.emplace("linear", *fs, tunables);
  rig->state.load(13);
  load_all(rig->state);
  const Decision d = ask(7, 11);
  EXPECT_EQ(d.result.group, 13u);
  EXPECT_EQ(ask(7, 14).result.group, 9u) << "around the end";
  EXPECT_EQ(rig->allocator.counters()[Criterion::cr1].groups_considered, 3u + 16u);
}

// The search may use an index to skip groups. The counts must be the same as if it walked all
// groups.
TEST_F(SearchTest, SkippedGroupsAreCountedAsIfWalked) {
  for (const char* policy : {"linear", "legacy", "cr1.5"}) {
    std::uint64_t considered[2] = {};
    for (const bool walk : {false, true}) {
      make(shape(0));
      fs->fill();
      fs->free(4, 100, 3);
      fs->free(17, 100, 2);
      tunables.mb_prefetch = 0;
      rig.emplace(policy, *fs, tunables);
      for (std::uint32_t group = 0; group < 20; ++group) {
        rig->state.load(group);
        // If one group is unread, the search must walk the groups and cannot skip them.
        if (!walk || group != 6) rig->state.mark_read(rig->state.group(group));
      }
      for (const std::uint32_t goal : {0u, 5u, 18u}) (void)ask(2, goal);
      for (const auto& c : rig->allocator.counters().by_criterion)
        considered[walk ? 1 : 0] += c.groups_considered;
    }
    EXPECT_EQ(considered[0], considered[1]) << policy;
    EXPECT_GT(considered[0], 0u);
  }
}

TEST_F(SearchTest, PowersOfTwoAreServedByTheBuddy) {
  make(shape(0));
  fs->fill();
  fs->free(7, 17, 20);   // order 3 at 24
  fs->free(11, 64, 64);  // order 6 at 64
  rig.emplace("legacy", *fs, tunables);
  load_all(rig->state);
  const Decision small = ask(8, 0);
  EXPECT_EQ(small.criterion, Criterion::cr0);
  EXPECT_EQ(small.result, (Extent{7, 24, 8, 0}));
  EXPECT_EQ(rig->allocator.counters().order2_hits, 1u);
  const Decision large = ask(64, 0);
  EXPECT_EQ(large.criterion, Criterion::cr0);
  EXPECT_EQ(large.result.group, 11u);
}

TEST_F(SearchTest, GoesOnAtTheLimitWithTheBestSoFar) {
  make(shape(0));
  fs->fill();
  free_runs(*fs, 2, 4, 5, 300);
  fs->free(2, 4 + 6 * 300, 9);
  tunables.mb_max_to_scan = 50;
  rig.emplace("legacy", *fs, tunables);
  load_all(rig->state);
  const Decision d = ask(60, 0);
  EXPECT_EQ(d.result.len, 5u) << "the run of nine lies beyond the limit";
  EXPECT_EQ(d.found, 51u);
  EXPECT_EQ(rig->allocator.counters().breaks, 1u);
  EXPECT_EQ(rig->allocator.counters().lost, 0u);
}

}  // namespace
}  // namespace e4r::test
