// SPDX-License-Identifier: GPL-2.0-or-later
// Tests the effects of frees other than the return of clusters.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "support/drivers.h"
#include "support/model.h"

namespace e4r::test {
namespace {

// Returns the engine after following the trace under 6.1.
std::unique_ptr<replay::Engine> followed(ModelFs& fs, const KernelTraceWriter& trace) {
  replay::InputTable inputs;
  auto [engine, status] = replay_as(Driver::follow, fs.source(), *allocator::find_policy("legacy"),
                                    allocator::defaults_for(fs.geometry()), trace.events(), inputs);
  EXPECT_TRUE(status.ok());
  return std::move(engine);
}

// The kernel traces a free, and then loads the group's buddy for it.
TEST(Free, LoadsItsGroupAndCountsThat) {
  ModelFs fs(model_shape("blocks_4k_full_size"));
  fs.use(1, 100, 20);
  KernelTraceWriter trace(false);
  trace.add_free({}, 12, 1, 100, 10);
  trace.add_load({}, 1);
  trace.add_free({}, 12, 1, 110, 10);
  const auto engine = followed(fs, trace);
  EXPECT_EQ(engine->tally().freed_clusters, 20u);
  EXPECT_EQ(engine->tally().bad_frees, 0u);
  EXPECT_EQ(engine->state().groups_loaded(), 1u);
  EXPECT_EQ(engine->counters().buddies_generated, 1u);
}

// Returns frees by one thread: data of a regular file, a block of its extent tree, a block of a
// directory.
std::vector<trace::Event> frees_of_three_kinds() {
  std::vector<trace::Event> out;
  std::int32_t start = 100;
  for (const auto& [mode, flags] :
       {std::pair{0100644u, 0u}, std::pair{0100644u, trace::fb::metadata},
        std::pair{0040755u, 0u}}) {
    trace::Event request;
    request.kind = trace::EventKind::free_blocks;
    request.pid = 1;
    request.ino = 12;
    request.mode = static_cast<std::uint16_t>(mode);
    request.flags = flags;
    out.push_back(request);
    trace::Event freed = request;
    freed.kind = trace::EventKind::mballoc_free;
    freed.result = {1, start, 10, 0};
    out.push_back(freed);
    start += 10;
  }
  return out;
}

// With data=writeback, freed data blocks can be used before the transaction is on disk.
TEST(Free, OfFileDataIsUsableAtOnceWithDataWriteback) {
  const std::vector<trace::Event> events = frees_of_three_kinds();
  for (const bool writeback : {false, true}) {
    ModelFs fs(model_shape("blocks_4k_full_size"));
    fs.use(1, 100, 30);
    state::Source source = fs.source();
    source.geometry.data_writeback = writeback;
    const std::uint32_t before = source.geometry.clusters_in(1) - ModelFs::kMetadata - 30;
    replay::InputTable inputs;
    auto [engine, status] = replay_as(Driver::follow, source, *allocator::find_policy("linux-7.3"),
                                      allocator::defaults_for(source.geometry), events, inputs);
    ASSERT_TRUE(status.ok());
    EXPECT_EQ(engine->tally().freed_clusters, 30u);
    EXPECT_EQ(engine->state().group(1).free, before + (writeback ? 10u : 0u));
  }
}

// If the pages of a loaded buddy were reclaimed, the kernel generates the buddy again. This changes
// no decision.
TEST(Reload, IsCountedAndChangesNothing) {
  ModelFs fs(model_shape("blocks_4k_full_size"));
  KernelTraceWriter trace(false);
  for (int i = 0; i < 3; ++i) trace.add_load({}, 1);
  const auto engine = followed(fs, trace);
  EXPECT_EQ(engine->state().groups_loaded(), 1u);
  EXPECT_EQ(engine->counters().buddies_generated, 3u);
}

}  // namespace
}  // namespace e4r::test
