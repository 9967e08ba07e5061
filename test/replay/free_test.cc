// SPDX-License-Identifier: GPL-2.0-or-later
// What frees do beyond returning clusters.
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "support/drivers.h"
#include "support/rig.h"
#include "support/trace_writer.h"

namespace e4r::test {
namespace {

// What is left of following the trace under 6.1.
std::unique_ptr<replay::Engine> followed(ModelFs& fs, const TraceWriter& trace) {
  replay::InputTable inputs;
  auto [engine, status] = replay_as(Driver::follow, fs.source(), *allocator::find_policy("legacy"),
                                    allocator::defaults_for(fs.geometry()), trace.events(), inputs);
  EXPECT_TRUE(status.ok());
  return std::move(engine);
}

// The kernel names the free before it loads the group's buddy for it.
TEST(Free, LoadsItsGroupAndCountsThat) {
  ModelFs fs(model_shape("blocks_4k_full_size"));
  fs.use(1, 100, 20);
  TraceWriter trace(false);
  trace.freed({}, 12, 1, 100, 10);
  trace.loaded({}, 1);
  trace.freed({}, 12, 1, 110, 10);
  const auto engine = followed(fs, trace);
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
  const auto engine = followed(fs, trace);
  EXPECT_EQ(engine->state().groups_loaded(), 1u);
  EXPECT_EQ(engine->counters().buddies_generated, 3u);
}

}  // namespace
}  // namespace e4r::test
