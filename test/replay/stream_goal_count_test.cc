// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/accounts.h"

#include <gtest/gtest.h>

#include "support/model.h"
#include "util/rng.h"

namespace e4r::replay {
namespace {

// Returns the events of stream searches on a kernel with `goals` stream goals. Each search ends in
// a random group.
std::vector<trace::Event> searches(std::uint32_t goals, int count) {
  Rng rng(goals);
  std::vector<std::uint32_t> last(goals, 0);
  std::vector<trace::Event> out;
  for (int i = 0; i < count; ++i) {
    trace::Event e;
    e.kind = trace::EventKind::mballoc_alloc;
    e.flags = mb::stream_alloc;
    e.ino = rng.between(12, 90);
    std::uint32_t& goal = last[e.ino % goals];
    e.goal_ex = {goal, -1, 64, 0};
    goal = static_cast<std::uint32_t>(rng.below(50));
    e.result = {goal, 5, 64, 0};
    out.push_back(e);
  }
  return out;
}

StreamGoalCount count(const std::vector<trace::Event>& events, std::uint32_t groups) {
  test::MemorySource source(events);
  return *count_stream_goals(source, groups);
}

TEST(StreamGoalCount, FindsTheNumberThatExplainsThemAll) {
  for (const std::uint32_t goals : {1u, 2u, 3u, 8u, 25u}) {
    const StreamGoalCount found = count(searches(goals, 400), 100);
    EXPECT_EQ(found.goals, goals);
    EXPECT_EQ(found.explained, 400u);
    EXPECT_EQ(found.searches, 400u);
  }
}

TEST(StreamGoalCount, NoMoreThanAQuarterOfTheGroups) {
  EXPECT_EQ(count(searches(25, 400), 100).goals, 25u);
  EXPECT_LE(count(searches(25, 400), 40).goals, 10u);
  EXPECT_EQ(count(searches(1, 50), 1).goals, 1u);
}

TEST(StreamGoalCount, NothingToExplain) {
  const StreamGoalCount found = count({}, 100);
  EXPECT_EQ(found.goals, 0u);
  EXPECT_EQ(found.searches, 0u);
}

// A search that found nothing does not move its goal.
TEST(StreamGoalCount, AFailedSearchMovesNothing) {
  std::vector<trace::Event> events = searches(1, 2);
  events[0].result.len = 0;
  events[1].goal_ex.group = 0;
  EXPECT_EQ(count(events, 100).explained, 2u);
}

}  // namespace
}  // namespace e4r::replay
