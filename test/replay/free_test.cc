// SPDX-License-Identifier: GPL-2.0-or-later
// What frees do beyond returning clusters.
#include <gtest/gtest.h>

#include "support/drivers.h"
#include "support/rig.h"
#include "support/trace_writer.h"

namespace e4r::test {
namespace {

// The kernel names the free before it loads the group's buddy for it.
TEST(Free, LoadsItsGroupAndCountsThat) {
  ModelFs fs(model_shape("blocks_4k_full_size"));
  fs.use(1, 100, 20);
  TraceWriter trace(false);
  trace.freed({}, 12, 1, 100, 10);
  trace.loaded({}, 1);
  trace.freed({}, 12, 1, 110, 10);
  const allocator::Policy& policy = *allocator::find_policy("legacy");
  replay::InputTable inputs;
  const auto [engine, status] =
      replay_as(Driver::follow, fs.source(), policy, allocator::defaults_for(fs.geometry()),
                trace.events(), inputs);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(engine->tally().freed_clusters, 20u);
  EXPECT_EQ(engine->tally().bad_frees, 0u);
  EXPECT_EQ(engine->state().groups_loaded(), 1u);
  EXPECT_EQ(engine->counters().buddies_generated, 1u);
}

// The pages of a buddy that is loaded were reclaimed: it is generated again, and nothing changes.
TEST(Reload, IsCountedAndChangesNothing) {
  ModelFs fs(model_shape("blocks_4k_full_size"));
  TraceWriter trace(false);
  for (int i = 0; i < 3; ++i) trace.loaded({}, 1);
  const allocator::Policy& policy = *allocator::find_policy("legacy");
  replay::InputTable inputs;
  const auto [engine, status] =
      replay_as(Driver::follow, fs.source(), policy, allocator::defaults_for(fs.geometry()),
                trace.events(), inputs);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(engine->state().groups_loaded(), 1u);
  EXPECT_EQ(engine->counters().buddies_generated, 3u);
}

}  // namespace
}  // namespace e4r::test
