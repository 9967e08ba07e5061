// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/free_extents.h"

#include <gtest/gtest.h>

#include "stats/layout.h"
#include "support/model.h"

namespace e4r::stats {
namespace {

// Applies a frame's changes to the groups.
void apply(const SpaceHistory::Frame& frame, std::vector<GroupFree>& groups) {
  for (const SpaceHistory::Change& change : frame.changes) {
    EXPECT_NE(groups[change.group], change.now) << "group " << change.group << " is as before";
    groups[change.group] = change.now;
  }
}

// Each frame must match a full count, after any steps between frames, including preallocations and
// frees that wait for a commit.
TEST(SpaceHistory, FramesAreWhatACountOfAllGroupsSays) {
  for (const test::ModelShape& shape : test::model_shapes()) {
    SCOPED_TRACE(shape.name);
    test::ModelFs fs(shape);
    test::Rig rig("legacy", fs);
    const std::vector<GroupFree> start = source_free(fs.source(), 0).space.groups;
    std::vector<GroupFree> groups = start;
    SpaceHistory history(start);
    Rng rng(3);
    bool changed = false;
    for (std::uint64_t decision = 1; decision <= 60; ++decision) {
      const auto got = rig.allocator.allocate(
          test::data_request(12 + rng.below(5), static_cast<std::uint32_t>(rng.between(1, 9)),
                             std::uint64_t{1} << 20));
      if (got.success && rng.chance(1, 4))
        (void)rig.state.free_clusters(got.result.group, got.result.start, 1, decision, false);
      if (rng.chance(1, 5)) rig.state.commit(decision);
      if (decision % 6 != 0) continue;
      history.add(decision, rig.state);
      const SpaceHistory::Frame& frame = history.frames().back();
      EXPECT_EQ(frame.decision, decision);
      apply(frame, groups);
      EXPECT_EQ(groups, settled_free(rig.state, 0).space.groups) << decision;
      changed = changed || !frame.changes.empty();
    }
    EXPECT_EQ(history.frames().size(), 10u);
    EXPECT_TRUE(changed);
  }
}

}  // namespace
}  // namespace e4r::stats
