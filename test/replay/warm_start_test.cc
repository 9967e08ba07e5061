// SPDX-License-Identifier: GPL-2.0-or-later
// Tests recordings that begin on a mounted file system. The state in memory at that moment must be
// deduced from the trace and the counters.
#include "replay/warm_start.h"
#include "replay/engine.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <optional>

#include "replay/checkpoint.h"
#include "replay/one_group.h"
#include "replay/session.h"
#include "support/busy_fs.h"
#include "support/drivers.h"
#include "support/model_look.h"
#include "trace/packed.h"

namespace e4r::test {
namespace {

namespace bitmap = state::bitmap;
using replay::WarmStart;
using state::MbGroup;

// A run of the model of which only the second half is recorded. The first half is visible only
// through its effects.
class HalfSeen {
 public:
  HalfSeen(std::string_view policy, const ModelShape& shape, std::uint64_t seed, bool stir = false)
      : busy_(policy, shape, seed) {
    Workload& work = busy_.work;
    work.run(300);
    work.commit_everything();
    if (stir) stir_lists(seed);
    const std::size_t seen_from = work.events().size();
    look_.emplace(busy_.rig.state, busy_.fs.source().metadata);
    read_memory();
    work.run(300);
    EXPECT_TRUE(work.problems().empty());
    events_ = std::span(work.events()).subspan(seen_from);
  }

  [[nodiscard]] const state::Source& source() const { return look_->source(); }
  [[nodiscard]] std::span<const trace::Event> events() const { return events_; }
  [[nodiscard]] const std::vector<MbGroup>& shown() const { return look_->shown(); }
  [[nodiscard]] const allocator::Policy& policy() const { return busy_.rig.allocator.policy(); }
  [[nodiscard]] const allocator::Tunables& tunables() const { return busy_.rig.tunables; }
  [[nodiscard]] std::uint64_t hidden() const { return look_->hidden(); }
  // What a recorder reads from the kernel's memory.
  [[nodiscard]] const replay::Checkpoint& memory() const { return memory_; }

 private:
  void read_memory() {
    state::FsState& state = busy_.rig.state;
    const state::MountedGeometry& geometry = state.geometry();
    for (std::uint32_t number = 0; number < state.group_count(); ++number)
      for (const state::Prealloc& pa : state.group(number).preallocs)
        memory_.preallocs.push_back(
            {.kind = pa.kind,
             .owner = pa.in_owner.is_linked() ? pa.owner : allocator::PlantedPrealloc::kNobody,
             .made = pa.serial,
             .group = number,
             .start = geometry.cluster_in_group(pa.block),
             .made_len = pa.len,
             .len = pa.len,
             .logical = pa.logical,
             .unused = {}});
    const allocator::StreamGoals& streams = busy_.rig.allocator.streams();
    memory_.streams.resize(streams.streams());
    for (std::size_t i = 0; i < memory_.streams.size(); ++i)
      streams.for_each(i, [&](const allocator::StreamGoals::Goal& goal) {
        memory_.streams[i] = {goal};
        return false;
      });
  }
  // Changes the order of the groups on their lists.
  void stir_lists(std::uint64_t seed) {
    std::vector<std::uint32_t> rank(busy_.rig.state.group_count());
    std::iota(rank.begin(), rank.end(), 0u);
    Rng rng(seed);
    for (std::size_t i = rank.size(); i > 1; --i) std::swap(rank[i - 1], rank[rng.below(i)]);
    for (const auto lists : {state::OrderLists::largest, state::OrderLists::average})
      busy_.rig.state.arrange(lists, rank);
  }

  BusyFs busy_;
  std::optional<ModelLook> look_;
  replay::Checkpoint memory_;
  std::span<const trace::Event> events_;
};

double percent_identical(const HalfSeen& half, const std::optional<WarmStart>& warm,
                         double* alone = nullptr) {
  replay::SessionOptions options;
  if (warm) options.warm = std::make_shared<WarmStart>(*warm);
  replay::Session session(half.source(), packed_trace(half.events(), trace::Generation::v6_1),
                          options);
  replay::Setup setup = {&half.policy(), half.tunables()};
  setup.check_every = replay::Setup::kOften;
  auto run = session.follow(setup);
  EXPECT_TRUE(run.ok()) << run.error().message;
  if (alone != nullptr) {
    auto free_run = session.free_run(setup);
    EXPECT_TRUE(free_run.ok());
    *alone = free_run->engine->agreement().percent_identical().value_or(0);
  }
  return run->engine->agreement().percent_identical().value_or(0);
}

class WarmStarts : public testing::TestWithParam<std::string_view> {};

// The deduced state is not always exact. If a preallocation is never used again, only the counters
// show that it exists. Unlike a kernel's traces, these traces do not show where a preallocation is
// released. kernel/lab/record.sh measures the results for real kernels in guests.
TEST_P(WarmStarts, AreFollowedAfterAShortLook) {
  double sum = 0;
  double cold_sum = 0;
  double least = 100;
  std::uint64_t hidden = 0, found = 0;
  constexpr int kSeeds = 12;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const HalfSeen half(GetParam(), model_shape("blocks_4k_forty_groups"), seed);
    MemorySource events(half.events());
    auto warm = replay::deduce_warm_start(half.source(), events, half.shown(),
                                          half.tunables().mb_stream_req);
    ASSERT_TRUE(warm.ok());
    hidden += half.hidden();
    found += warm->shown_by_trace + warm->found_by_counters;
    EXPECT_EQ(warm->shown_by_trace + warm->found_by_counters + warm->not_found, half.hidden());
    const double cold = percent_identical(half, std::nullopt);
    const double percent = percent_identical(half, *warm);
    EXPECT_GE(percent, cold) << "seed " << seed;
    sum += percent;
    cold_sum += cold;
    least = std::min(least, percent);
  }
  EXPECT_GT(hidden, 0u);
  RecordProperty("least", std::to_string(least));
  EXPECT_GT(sum / kSeeds, 92.0);
  EXPECT_LT(cold_sum / kSeeds, 80.0);
  EXPECT_GT(least, 80.0);
  EXPECT_GT(static_cast<double>(found), 0.85 * static_cast<double>(hidden));
}

INSTANTIATE_TEST_SUITE_P(Kernels, WarmStarts, testing::Values("legacy", "linux-6.12", "linux-7.3"),
                         [](const auto& param_info) {
                           std::string name(param_info.param);
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

// Everything is known if the recorder read the kernel's memory, except on kernels with lists: the
// order of groups on them remains unknown.
TEST_P(WarmStarts, AreExactIfMemoryWasRead) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const HalfSeen half(GetParam(), model_shape("blocks_4k_forty_groups"), seed);
    MemorySource events(half.events());
    const auto warm = replay::deduce_warm_start(half.source(), events, half.shown(),
                                                half.tunables().mb_stream_req, &half.memory());
    ASSERT_TRUE(warm.ok()) << warm.error().message;
    EXPECT_EQ(warm->read_from_memory, half.hidden()) << "seed " << seed;
    EXPECT_EQ(warm->found_by_counters + warm->not_found + warm->shown_by_trace, 0u);
    EXPECT_EQ(warm->groups_not_explained, 0u);
    if (GetParam() != std::string_view("legacy")) {
      EXPECT_EQ(percent_identical(half, *warm), 100.0) << "seed " << seed;
    }
  }
}

TEST(WarmStart, RefusesMemoryThatDoesNotFitTheImage) {
  const HalfSeen half("linux-7.3", model_shape("blocks_4k_forty_groups"), 1);
  const auto refusal = [&](const char* line) {
    const auto memory =
        replay::Checkpoint::parse(fmt::format("checkpoint 1\nstreams 1\n{}\n", line));
    EXPECT_TRUE(memory.ok()) << memory.error().message;
    MemorySource events(half.events());
    const auto warm = replay::deduce_warm_start(half.source(), events, half.shown(),
                                                half.tunables().mb_stream_req, &*memory);
    return warm.ok() ? "nothing" : warm.error().message;
  };
  EXPECT_EQ(refusal("of-cpu 0 1 40 0 4 4 0"),
            "the preallocation at cluster 0 of group 40 does not exist in the start image");
  EXPECT_EQ(refusal("of-inode 12 1 0 4294967295 2 2 0"),
            "the preallocation at cluster 4294967295 of group 0 does not exist in the start image");
  EXPECT_EQ(refusal("of-inode 12 1 0 7 0 0 0"),
            "the preallocation at cluster 7 of group 0 does not exist in the start image");
  EXPECT_EQ(refusal("stream 0 40 0"), "the goal of stream 0 does not exist in the start image");
}

// Linux 6.1 takes the first group of a list. So an allocation shows which group was first, even if
// it takes the group's last chunk of the list's order.
TEST(WarmStart, FindsTheOrderOfGroupsOnTheirLists) {
  double sum = 0, stirred_sum = 0;
  constexpr int kSeeds = 12;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (const bool stir : {false, true}) {
      const HalfSeen half("legacy", model_shape("blocks_4k_forty_groups"), seed, stir);
      MemorySource events(half.events());
      auto warm = replay::deduce_warm_start(half.source(), events, half.shown(),
                                            half.tunables().mb_stream_req);
      ASSERT_TRUE(warm.ok());
      (stir ? stirred_sum : sum) += percent_identical(half, *warm);
    }
  }
  EXPECT_GT(stirred_sum, sum - kSeeds);
  // If groups that the decision itself has moved to another list were ignored, the mean would be
  // only 92.7.
  EXPECT_GT(stirred_sum / kSeeds, 93.5);
}

// If a search found clusters free, they were not in a preallocation when the trace began, unless a
// preallocation was released without an event.
TEST(WarmStart, APreallocationHasNothingThatWasFree) {
  ModelFs fs(model_shape("blocks_4k_forty_groups"));
  const state::Source& source = fs.source();
  const auto words = source.groups[1].words;
  std::vector<ClusterRange> free;
  bitmap::for_each_clear_run(words, source.geometry.clusters_per_group,
                             [&](std::uint32_t start, std::uint32_t end) {
                               free.push_back({start, end - start});
                             });
  ASSERT_EQ(free.size(), 1u);
  MbGroup shown;  // shows no free cluster, so all are hidden
  shown.number = 1;
  std::array<trace::Event, 2> events;
  events[0].kind = trace::EventKind::mballoc_alloc;
  events[0].result = {1, static_cast<std::int32_t>(free[0].first), 1, 0};
  events[1].kind = trace::EventKind::release_group_pa;
  events[1].block = source.geometry.first_block(2);
  events[1].count = 1;
  for (const std::size_t count : {std::size_t{1}, std::size_t{2}}) {
    MemorySource trace(std::span<const trace::Event>(events).first(count));
    const auto warm = replay::deduce_warm_start(source, trace, {shown}, 16);
    ASSERT_TRUE(warm.ok());
    EXPECT_EQ(warm->found_by_counters, count == 1 ? free[0].count : 0u);
    EXPECT_EQ(warm->groups_not_explained, count == 1 ? 0u : 1u);
  }
}

// The blocks before a preallocation show its position in the file, even if the trace only releases
// the preallocation.
TEST(WarmStart, APreallocationGoesOnWhereItsFileEnds) {
  ModelFs fs(model_shape("blocks_4k_forty_groups"));
  const auto& geometry = fs.source().geometry;
  std::array<trace::Event, 2> events;
  events[0].kind = trace::EventKind::request_blocks;
  events[0].ino = 20;
  events[0].left_logical = 158;
  events[0].left_block = geometry.block_of(1, 99);
  events[1].kind = trace::EventKind::release_inode_pa;
  events[1].ino = 20;
  events[1].block = geometry.block_of(1, 100);
  events[1].count = 7;
  const auto logical = [&] {
    MemorySource trace(events);
    const auto warm = replay::deduce_warm_start(fs.source(), trace, {}, 16);
    EXPECT_TRUE(warm.ok());
    return warm->preallocs.size() == 1 ? warm->preallocs[0].logical : 0;
  };
  EXPECT_EQ(logical(), 159u);
  events[0].ino = 21;  // another file ends there
  EXPECT_GT(logical(), 1u << 31);
  events[0].ino = 20;
  events[0].left_block -= 1;  // the file ends earlier
  EXPECT_GT(logical(), 1u << 31);
  events[0].right_block = geometry.block_of(1, 107);  // and continues after the gap
  events[0].right_logical = 200;
  EXPECT_EQ(logical(), 193u);
  events[0].right_logical = 6;
  EXPECT_GT(logical(), 1u << 31);
}

// A request for a hole shows that the file extends beyond the blocks that preallocations served. If
// a preallocation serves a request, this also shows the file position of the preallocation's
// earlier part.
TEST(WarmStart, APreallocationOfALongFileIsTheFiles) {
  ModelFs fs(model_shape("blocks_4k_forty_groups"));
  const auto& geometry = fs.source().geometry;
  std::array<trace::Event, 3> events;
  for (trace::Event& e : events) {
    e.ino = 20;
    e.pid = 77;
    e.cpu = 3;
  }
  events[0].kind = trace::EventKind::request_blocks;
  events[0].right_logical = 33;
  events[0].right_block = geometry.block_of(1, 400);
  events[1].kind = trace::EventKind::mballoc_prealloc;
  events[1].orig = {1, 0, 1, 10};
  events[1].result = {1, 108, 1, 10};
  events[2].kind = trace::EventKind::release_inode_pa;
  events[2].block = geometry.block_of(1, 100);
  events[2].count = 8;
  const auto deduced = [&] {
    MemorySource trace(events);
    return replay::deduce_warm_start(fs.source(), trace, {}, 16)->preallocs;
  };
  auto found = deduced();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, state::Prealloc::Kind::inode);
  EXPECT_EQ(found[0].owner, 20u);
  EXPECT_EQ(found[0].start, 100u);
  EXPECT_EQ(found[0].len, 9u);
  EXPECT_EQ(found[0].logical, 2u);
  events[0].right_logical = 15;
  EXPECT_EQ(deduced()[0].kind, state::Prealloc::Kind::group);
  events[0].has_inputs = true;
  events[0].i_size = 65536;
  EXPECT_EQ(deduced()[0].kind, state::Prealloc::Kind::group);
  events[0].i_size += 1;
  EXPECT_EQ(deduced()[0].kind, state::Prealloc::Kind::inode);
}

// Clusters 110 to 114 of group 1 are in use on disk, as blocks of a file.
struct OldBlocks {
  OldBlocks() {
    bitmap::set_range(words, 110, 5);
    source.groups[1].words = words;
  }
  ModelFs fs{model_shape("blocks_4k_forty_groups")};
  state::Source source = fs.source();
  std::vector<std::uint64_t> words{source.groups[1].words.begin(), source.groups[1].words.end()};
};

// If a file has no extents, its requests have no neighbours, but the goal of a request shows the
// place of the file's preceding block.
TEST(WarmStart, APreallocationOfAFileWithoutExtentsHasItsBlockBehindIt) {
  OldBlocks old;  // blocks 30 to 34 of the file
  const auto& geometry = old.source.geometry;
  std::array<trace::Event, 4> events;
  for (trace::Event& e : events) e.ino = 20;
  trace::Event& far = events[0];  // after a hole
  trace::Event& near = events[1];
  far.kind = near.kind = trace::EventKind::request_blocks;
  far.goal = near.goal = geometry.block_of(1, 114);
  far.logical = 60;
  near.logical = 35;
  events[2].kind = events[3].kind = trace::EventKind::release_inode_pa;
  events[2].block = geometry.block_of(1, 100);
  events[2].count = 10;
  events[3].block = geometry.block_of(1, 115);
  events[3].count = 9;
  const auto deduced = [&](std::size_t count) {
    MemorySource trace(std::span<const trace::Event>(events).first(count));
    auto warm = replay::deduce_warm_start(old.source, trace, {}, 16);
    EXPECT_EQ(warm->shown_by_trace, count == 3 ? 10u : 19u);
    return warm->preallocs;
  };
  auto found = deduced(3);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].start, 100u);
  EXPECT_EQ(found[0].len, 15u);  // up to the last block of the file
  EXPECT_EQ(found[0].logical, 20u);
  Rig rig("legacy", old.fs);
  rig.state.take(rig.state.group(1), 110, 5);
  EXPECT_TRUE(rig.allocator.plant(found[0]));
  const state::Prealloc& pa = rig.state.inode_preallocs(20).list.front();
  EXPECT_EQ(pa.free, 10u);
  EXPECT_EQ(bitmap::find_set(pa.used, pa.len, 0), 10u);
  EXPECT_EQ(bitmap::find_clear(pa.used, pa.len, 10), 15u);
  for (const std::string& line : rig.state.check(5)) ADD_FAILURE() << line;
  found[0].kind = state::Prealloc::Kind::group;
  EXPECT_FALSE(rig.allocator.plant(found[0]));

  near.ino = 21;  // the goal belongs to another file's request
  EXPECT_EQ(deduced(3)[0].logical, 45u);
  near.ino = 20;
  bitmap::clear_range(old.words, 112, 1);  // a cluster between the blocks is free
  found = deduced(3);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].len, 10u);
  EXPECT_GT(found[0].logical, 1u << 31);
  bitmap::set_range(old.words, 112, 1);
  far.goal = near.goal = 0;
  near.left_block = geometry.block_of(1, 114);  // the next piece continues here
  near.left_logical = 34;
  found = deduced(4);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_GT(found[0].logical, 1u << 31);
  EXPECT_EQ(found[1].logical, 35u);
}

// If only blocks of the file are between two pieces, the pieces are one preallocation.
TEST(WarmStart, PiecesAroundAFilesBlocksAreOne) {
  OldBlocks old;
  std::array<trace::Event, 2> events;
  for (trace::Event& e : events) {
    e.kind = trace::EventKind::mballoc_prealloc;
    e.ino = 20;
  }
  events[0].orig = events[0].result = {1, 100, 10, 30};
  events[1].orig = events[1].result = {1, 115, 9, 45};
  const auto deduced = [&] {
    MemorySource trace(events);
    return replay::deduce_warm_start(old.source, trace, {}, 16)->preallocs;
  };
  auto found = deduced();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].len, 24u);
  EXPECT_EQ(found[0].logical, 30u);
  events[1].orig.logical = events[1].result.logical = 46;  // at another place in the file
  EXPECT_EQ(deduced().size(), 2u);
  events[1].orig.logical = events[1].result.logical = 45;
  events[1].ino = 21;
  EXPECT_EQ(deduced().size(), 2u);
  events[1].ino = 20;
  bitmap::clear_range(old.words, 112, 1);
  EXPECT_EQ(deduced().size(), 2u);
}

// A thread chooses the preallocations of its CPU, waits, and may then continue on another CPU.
TEST(WarmStart, APreallocationIsThatOfTheCpuThatAsked) {
  ModelFs fs(model_shape("blocks_4k_forty_groups"));
  std::array<trace::Event, 2> events;
  events[0].kind = trace::EventKind::request_blocks;
  events[0].cpu = 0;
  events[1].kind = trace::EventKind::mballoc_prealloc;
  events[1].cpu = 1;
  events[1].orig = {1, 0, 1, 0};
  events[1].result = {1, 100, 1, 0};
  for (trace::Event& e : events) e.pid = 77;
  for (const bool all : {true, false}) {
    const std::size_t first = all ? 0 : 1;
    MemorySource source(std::span<const trace::Event>(events).subspan(first));
    const auto warm = replay::deduce_warm_start(fs.source(), source, {}, 16);
    ASSERT_TRUE(warm.ok());
    ASSERT_EQ(warm->preallocs.size(), 1u);
    EXPECT_EQ(warm->preallocs[0].owner, all ? 0u : 1u);
  }
}

// In the trace, requests use the beginning of a CPU's preallocation. The counters show that the
// preallocation extends to the end of its chunk. They also show the places of two other
// preallocations.
TEST(WarmStart, APreallocationOfACpuGoesOnToTheEndOfItsChunk) {
  OneGroup g;
  bitmap::set_range(g.words, 0, 600);
  bitmap::set_range(g.words, 2048, 52);
  const ClusterRange rest = {600, 424}, other = {1541, 507}, third = {2100, 12};
  const MbGroup shown = g.with({rest, other, third});
  state::Source source;
  source.geometry = g.geometry;
  const std::uint32_t free = bitmap::count_clear(g.words, 4096);
  source.groups.push_back({g.words, free, free, false, false});
  std::array<trace::Event, 2> events;
  events[0].kind = trace::EventKind::request_blocks;
  events[1].kind = trace::EventKind::mballoc_prealloc;
  events[1].orig = {0, 0, 5, 0};
  events[1].result = {0, 600, 5, 0};
  for (trace::Event& e : events) {
    e.pid = 77;
    e.cpu = 1;
  }
  MemorySource trace(events);
  const auto warm = replay::deduce_warm_start(source, trace, {shown}, 16);
  ASSERT_TRUE(warm.ok());
  EXPECT_EQ(warm->groups_not_explained, 0u);
  EXPECT_EQ(warm->found_by_counters, rest.count - 5 + other.count + third.count);
  EXPECT_EQ(warm->prealloc_count(), 3u);
  ASSERT_EQ(warm->preallocs.size(), 1u);
  EXPECT_EQ(warm->preallocs[0].owner, 1u);
  std::vector<ClusterRange> found = {{warm->preallocs[0].start, warm->preallocs[0].len}};
  EXPECT_EQ(found[0], rest);
  for (const ClusterRange& run : warm->hidden.at(0).runs()) found.push_back(run);
  const MbGroup again = g.with(found);
  EXPECT_EQ(again.counters, shown.counters);
  EXPECT_EQ(again.free, shown.free);
  EXPECT_EQ(again.fragments, shown.fragments);
}

// A CPU's preallocation serves only files of up to mb_stream_req blocks.
TEST(WarmStart, StreamRequestsAreAsLongAsTheRecordedKernelHasIt) {
  ModelFs fs(model_shape("blocks_4k_forty_groups"));
  trace::Event hit;
  hit.kind = trace::EventKind::mballoc_prealloc;
  hit.ino = 20;
  hit.cpu = 3;
  hit.orig = {1, 100, 4, 16};  // ends with block 20 of the file
  hit.result = {1, 100, 4, 16};
  for (const auto& [stream_req, kind] : {std::pair{16u, state::Prealloc::Kind::inode},
                                         std::pair{20u, state::Prealloc::Kind::group}}) {
    MemorySource events({&hit, 1});
    const auto warm = replay::deduce_warm_start(fs.source(), events, {}, stream_req);
    ASSERT_TRUE(warm.ok());
    ASSERT_EQ(warm->preallocs.size(), 1u);
    EXPECT_EQ(warm->preallocs[0].kind, kind) << stream_req;
    EXPECT_EQ(warm->preallocs[0].owner, stream_req == 16 ? hit.ino : hit.cpu);
  }
}

// A capture is untrusted input, so impossible facts in it must not change the state.
TEST(WarmStart, WhatCannotHaveBeenIsLeftOut) {
  ModelFs fs(model_shape("blocks_4k_forty_groups"));
  Rig rig("legacy", fs);
  allocator::PlantedPrealloc pa;
  pa.kind = state::Prealloc::Kind::group;
  pa.group = 0;
  pa.start = 100;
  pa.len = 16;
  EXPECT_TRUE(rig.allocator.plant(pa));
  EXPECT_FALSE(rig.allocator.plant(pa));  // in use now
  pa.start = 0;
  EXPECT_FALSE(rig.allocator.plant(pa));  // metadata
  pa.start = UINT32_MAX;
  EXPECT_FALSE(rig.allocator.plant(pa));
  pa.start = 200;
  pa.len = UINT32_MAX;
  EXPECT_FALSE(rig.allocator.plant(pa));
  pa.len = 0;
  EXPECT_FALSE(rig.allocator.plant(pa));
  pa.len = 4;
  pa.group = UINT32_MAX;
  EXPECT_FALSE(rig.allocator.plant(pa));
  for (const std::string& line : rig.state.check(5)) ADD_FAILURE() << line;
  WarmStart warm;
  warm.preallocs = {pa};
  warm.rank_by_average = {3, 2, 1};  // for another file system
  warm.groups.push_back({});
  warm.groups.back().number = UINT32_MAX;
  replay::Setup setup;
  setup.check_every = replay::Setup::kOften;
  replay::Follow engine(
      fs.source(),
      replay::make_model(fs.source(), *allocator::find_policy("legacy"), rig.tunables, &warm),
      setup, {.warm = true});
  MemorySource none({});
  EXPECT_TRUE(engine.run(none).ok());
}

}  // namespace
}  // namespace e4r::test
