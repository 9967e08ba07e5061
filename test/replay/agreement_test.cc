// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/agreement.h"

#include <gtest/gtest.h>

#include "allocator/allocator.h"

namespace e4r::replay {
namespace {

// A search by the stream goal that the trace closed with these results.
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

// Which of two searches at once left the stream goal last does not show in the trace.
TEST(Agreement, StreamGoalIsInDoubtAfterARace) {
  Agreement agreement;
  agreement.count(stream_search(Race::allocator), deciding(500), false);
  EXPECT_EQ(agreement.identical, 1u);
  agreement.count(stream_search(Race::none), deciding(700), false);
  EXPECT_EQ(agreement.identical, 1u);
  EXPECT_EQ(agreement.races, 1u);
  ASSERT_NE(agreement.first_divergence(), nullptr);
  EXPECT_EQ(agreement.first_divergence()->race, Race::allocator);
  // From here on the goal is known again.
  agreement.count(stream_search(Race::none), deciding(700), false);
  EXPECT_EQ(agreement.races, 1u);
  EXPECT_EQ(agreement.requests - agreement.identical, 2u);
}

// An inode was allocated meanwhile: its group's lock may have been held. Where streams go on is
// settled by the search alone.
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

// What a trace cannot say is no sign that the model does not follow.
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
