// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/accounts.h"

#include <gtest/gtest.h>

namespace e4r::replay {
namespace {

Geometry make_geometry() {
  Geometry g;
  g.blocks_count = 4096;
  g.blocks_per_group = g.clusters_per_group = 1024;
  g.groups = 4;
  return g;
}

// Returns a search for 8 clusters with a goal of 16 clusters at 1/100. It found 16 clusters at
// 2/200 and returned 8 of them.
Op make_op() {
  Op op;
  op.kind = Op::Kind::allocate;
  op.block = 2 * 1024 + 200;
  op.len = 8;
  op.closing.seen = true;
  op.closing.orig = {1, 100, 8, 0};
  op.closing.goal = {1, 100, 16, 0};
  op.closing.result = {2, 200, 16, 0};
  op.closing.found = 3;
  op.closing.groups = 2;
  op.closing.criterion = mb::Criterion::cr1;
  return op;
}

ClosingCounts counted(const Op& op) {
  ClosingCounts counts;
  counts.count(op, make_geometry());
  return counts;
}

std::uint64_t hits_of(const ClosingCounts& counts) {
  std::uint64_t all = 0;
  for (const std::uint64_t hits : counts.hits) all += hits;
  return all;
}

TEST(ClosingCounts, OfASearch) {
  const ClosingCounts counts = counted(make_op());
  EXPECT_EQ(counts.requests, 1u);
  EXPECT_EQ(counts.success, 1u);
  EXPECT_EQ(counts.failed, 0u);
  EXPECT_EQ(counts.allocated, 8u);
  EXPECT_EQ(counts.extents_scanned, 3u);
  EXPECT_EQ(counts.groups_scanned, 2u);
  EXPECT_EQ(counts.goal_hits, 0u);
  EXPECT_EQ(counts.len_goal_hits, 1u);
  EXPECT_EQ(counts.hits[static_cast<std::size_t>(mb::Criterion::cr1)], 1u);
  EXPECT_EQ(hits_of(counts), 1u);
}

TEST(ClosingCounts, ASearchThatFoundItsGoalHasNoCriterion) {
  Op op = make_op();
  op.block = 1024 + 100;
  op.closing.result = op.closing.goal;
  op.closing.groups = 0;
  op.closing.criterion = mb::Criterion::cr0;
  const ClosingCounts counts = counted(op);
  EXPECT_EQ(counts.goal_hits, 1u);
  EXPECT_EQ(hits_of(counts), 0u);
}

TEST(ClosingCounts, ASearchMayEndPastTheLastCriterion) {
  Op op = make_op();
  op.closing.criterion = mb::Criterion::past_last;
  const ClosingCounts counts = counted(op);
  EXPECT_EQ(counts.hits[static_cast<std::size_t>(mb::Criterion::past_last)], 1u);
  EXPECT_EQ(hits_of(counts), 1u);
  EXPECT_EQ(counts.nameless, 0u);
}

TEST(ClosingCounts, ThePreallocationsGoalIsTheRequest) {
  Op op = make_op();
  op.closing.prealloc = true;
  op.closing.goal = {};
  EXPECT_EQ(counted(op).goal_hits, 0u);
  op.block = 1024 + 100;
  const ClosingCounts counts = counted(op);
  EXPECT_EQ(counts.goal_hits, 1u);
  EXPECT_EQ(counts.success, 1u);
  EXPECT_EQ(counts.extents_scanned + counts.groups_scanned + hits_of(counts), 0u);
}

TEST(ClosingCounts, WhatIsFoundInVain) {
  Op op = make_op();
  op.block = 0;
  op.len = 0;
  op.closing.result = {};
  op.closing.criterion = mb::Criterion::cr3;
  const ClosingCounts counts = counted(op);
  EXPECT_EQ(counts.failed, 1u);
  EXPECT_EQ(counts.success + counts.allocated + counts.goal_hits + counts.len_goal_hits, 0u);
  EXPECT_EQ(counts.extents_scanned, 3u);
  EXPECT_EQ(hits_of(counts), 0u);
}

// best-avail shortens the goal. Only kernels with a series of this project record the length before
// that.
TEST(ClosingCounts, AShortenedGoalHidesWhetherAllOfItWasFound) {
  Op op = make_op();
  op.closing.criterion = mb::Criterion::best_avail;
  EXPECT_EQ(counted(op).goals_hidden, 1u);
  op.closing.orig_goal_len = 64;
  EXPECT_EQ(counted(op).goals_hidden, 0u);
  EXPECT_EQ(counted(op).len_goal_hits, 0u);
  op.closing.orig_goal_len = 16;
  EXPECT_EQ(counted(op).len_goal_hits, 1u);
}

TEST(ClosingCounts, NoHitForACriterionWithoutACounter) {
  Op op = make_op();
  op.closing.criterion = mb::Criterion::unknown;
  EXPECT_EQ(hits_of(counted(op)), 0u);
  EXPECT_EQ(counted(op).nameless, 1u);
}

}  // namespace
}  // namespace e4r::replay
