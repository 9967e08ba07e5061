// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/agreement.h"

#include <gtest/gtest.h>

#include "allocator/allocator.h"

namespace e4r::replay {
namespace {

// A stream search with fixed recorded results.
Op stream_search(Race race) {
  Op op;
  op.kind = Op::Kind::allocate;
  op.race = race;
  op.closing.seen = true;
  op.closing.flags = mb::stream_alloc;
  op.closing.goal.start = 500;
  op.closing.criterion = mb::Criterion::cr0;
  return op;
}

allocator::Decision deciding(std::uint32_t goal_start) {
  allocator::Decision decision;
  decision.flags = mb::stream_alloc;
  decision.goal.start = goal_start;
  decision.criterion = mb::Criterion::cr0;
  return decision;
}

// After two concurrent searches, the trace does not show which one set the stream goal last.
TEST(Agreement, StreamGoalIsInDoubtAfterARace) {
  Agreement agreement;
  agreement.count(stream_search(Race::allocator), deciding(500), false);
  EXPECT_EQ(agreement.identical, 1u);
  agreement.count(stream_search(Race::none), deciding(700), false);
  EXPECT_EQ(agreement.identical, 1u);
  EXPECT_EQ(agreement.races, 1u);
  ASSERT_NE(agreement.first_divergence(), nullptr);
  EXPECT_EQ(agreement.first_divergence()->race, Race::allocator);
  // After this search, the goal is known again.
  agreement.count(stream_search(Race::none), deciding(700), false);
  EXPECT_EQ(agreement.races, 1u);
  EXPECT_EQ(agreement.requests - agreement.identical, 2u);
}

// If another thread allocated an inode meanwhile, it may have held the group's lock. But it cannot
// have changed the stream goal, which only searches change.
TEST(Agreement, ADecisionMayBeDisturbedByAnInode) {
  Agreement agreement;
  agreement.count(stream_search(Race::inodes), deciding(500), false);
  agreement.count(stream_search(Race::none), deciding(700), false);
  EXPECT_EQ(agreement.races, 0u);
  agreement.count(stream_search(Race::inodes), deciding(700), false);
  EXPECT_EQ(agreement.races, 1u);
  ASSERT_EQ(agreement.divergences.size(), 2u);
  EXPECT_EQ(agreement.divergences[1].race, Race::inodes);
}

// If a fact is missing in the trace, this does not mean that the model disagrees.
TEST(Agreement, ACriterionNotKnownIsNoReasonToRefuse) {
  Op op = stream_search(Race::none);
  op.closing.criterion = mb::Criterion::unknown;
  Agreement nameless;
  nameless.count(op, deciding(500), false);
  EXPECT_EQ(nameless.identical, 0u);
  EXPECT_EQ(nameless.nameless, 1u);
  EXPECT_TRUE(nameless.follows());
  Agreement elsewhere;
  elsewhere.count(op, deciding(700), false);
  EXPECT_FALSE(elsewhere.follows());
  op.closing.criterion = mb::Criterion::cr1;
  Agreement known;
  known.count(op, deciding(500), false);
  EXPECT_FALSE(known.follows());
}

}  // namespace
}  // namespace e4r::replay
