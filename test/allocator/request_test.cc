// SPDX-License-Identifier: GPL-2.0-or-later
// Tests the normalisation of requests. The expected goals were computed by hand from the rules of
// ext4_mb_normalize_request in Linux 6.1.
#include "allocator/request.h"

#include <gtest/gtest.h>

#include <list>

#include "support/model.h"
#include "support/sizes.h"

namespace e4r::test {
namespace {

using allocator::Mode;
using allocator::Normalized;
using allocator::Request;
using allocator::size_step;
using allocator::SizeStep;

state::MountedGeometry geometry_of(std::uint32_t block_bits, std::uint32_t cluster_bits = 0) {
  state::MountedGeometry g;
  g.block_bits = block_bits;
  g.cluster_bits = cluster_bits;
  g.first_data_block = block_bits == 10 && cluster_bits == 0 ? 1 : 0;
  g.clusters_per_group = block_bits == 16 ? 65528 : 8u << block_bits;
  g.blocks_per_group = g.clusters_per_group << cluster_bits;
  g.groups = 100;
  g.blocks_count = std::uint64_t{g.groups} * g.blocks_per_group + g.first_data_block;
  return g;
}

// The inputs of a normalisation.
struct Bench {
  explicit Bench(const state::MountedGeometry& g) : geometry(g) {}

  Normalized run(std::uint32_t logical, std::uint32_t len, SizeStep step) {
    state::Source source;
    source.geometry = geometry;
    source.geometry.groups = 0;
    state::FsState state(source, state::GroupIndex::none);
    allocator::Counters counters;
    allocator::Tunables tunables;
    allocator::Search search(state, tunables, counters);
    search.orig = {7, 11, len, logical};
    search.goal = search.orig;
    state::InodePreallocs mine;
    for (state::Prealloc& pa : preallocs) mine.list.push_back(pa);
    const Normalized out = normalize(geometry, search, request, &mine, step, neighbour);
    mine.list.clear();
    return out;
  }
  void prealloc(std::uint32_t logical, std::uint32_t len) {
    state::Prealloc& pa = preallocs.emplace_back();
    pa.logical = logical;
    pa.len = len;
  }

  allocator::NeighbourGoal neighbour = allocator::NeighbourGoal::aimed_at;
  state::MountedGeometry geometry;
  Request request;
  std::list<state::Prealloc> preallocs;
};

struct StepCase {
  std::uint32_t block_bits;
  std::uint64_t bytes;
  SizeStep step;
};

TEST(SizeSteps, FollowTheTable) {
  for (const StepCase& c : {
           StepCase{12, 0, SizeStep::k16},
           StepCase{12, 16 * kKiB, SizeStep::k16},
           StepCase{12, 16 * kKiB + 1, SizeStep::k32},
           StepCase{12, 32 * kKiB, SizeStep::k32},
           StepCase{12, 64 * kKiB, SizeStep::k64},
           StepCase{12, 64 * kKiB + 1, SizeStep::k128},
           StepCase{12, 256 * kKiB, SizeStep::k256},
           StepCase{12, 512 * kKiB, SizeStep::k512},
           StepCase{12, 512 * kKiB + 1, SizeStep::m1},
           StepCase{12, kMiB, SizeStep::m1},
           StepCase{12, kMiB + 1, SizeStep::m4},
           StepCase{12, 4 * kMiB, SizeStep::m4},
           StepCase{12, 4 * kMiB + 1, SizeStep::m8},
           StepCase{12, 8 * kMiB, SizeStep::m8},
           StepCase{12, 8 * kMiB + 1, SizeStep::large},
           StepCase{12, 100 * kMiB, SizeStep::large},
           // The kernel limits a chunk to 2 << block_bits blocks. So with 1K blocks the step is at
           // most 2 MiB, and with 2K blocks at most 4 MiB.
           StepCase{10, kMiB, SizeStep::m1},
           StepCase{10, 100 * kMiB, SizeStep::m4},
           StepCase{11, 4 * kMiB, SizeStep::m4},
           StepCase{11, 4 * kMiB + 1, SizeStep::m8},
           StepCase{11, 100 * kMiB, SizeStep::m8},
           StepCase{16, 16 * kKiB, SizeStep::k16},
           StepCase{16, 100 * kMiB, SizeStep::large},
       })
    EXPECT_EQ(size_step(c.bytes, geometry_of(c.block_bits)), c.step)
        << c.block_bits << " " << c.bytes;
}

TEST(SizeSteps, SmallestSizeFallsIntoItsStep) {
  for (const std::uint32_t bits : {12u, 13u, 16u}) {
    const state::MountedGeometry g = geometry_of(bits);
    for (int i = 0; i < allocator::kSizeSteps; ++i) {
      const auto step = static_cast<SizeStep>(i);
      EXPECT_EQ(size_step(smallest_in(step), g), step) << bits << " " << i;
      if (i > 0) {
        EXPECT_LT(size_step(smallest_in(step) - 1, g), step) << bits << " " << i;
      }
    }
  }
}

struct GoalCase {
  std::uint32_t block_bits;
  std::uint32_t logical, len;
  SizeStep step;
  std::uint32_t goal_logical, goal_len;
};

// Without neighbours and preallocations, only the size step determines the goal.
TEST(Normalize, GoalOfEachStep) {
  for (const GoalCase& c : {
           GoalCase{12, 0, 1, SizeStep::k16, 0, 4},
           GoalCase{12, 3, 1, SizeStep::k16, 0, 4},
           GoalCase{12, 5, 2, SizeStep::k32, 0, 8},
           GoalCase{12, 0, 10, SizeStep::k64, 0, 16},
           GoalCase{12, 20, 10, SizeStep::k128, 0, 32},
           GoalCase{12, 20, 10, SizeStep::k256, 0, 64},
           GoalCase{12, 20, 10, SizeStep::k512, 0, 128},
           GoalCase{12, 20, 10, SizeStep::m1, 0, 256},
           GoalCase{12, 700, 10, SizeStep::m4, 512, 512},
           GoalCase{12, 1500, 10, SizeStep::m8, 1024, 1024},
           GoalCase{12, 5000, 10, SizeStep::large, 4096, 2048},
           GoalCase{12, 5000, 2048, SizeStep::large, 4096, 2048},
           // The goal of a request of more than 8 MiB is the request itself, but only if blocks are
           // larger than 4K. With other blocks, a goal has at most 8 MiB.
           GoalCase{12, 5000, 2049, SizeStep::large, 4096, 2048},
           GoalCase{13, 5000, 1025, SizeStep::large, 5000, 1025},
           GoalCase{10, 0, 1, SizeStep::k16, 0, 16},
           GoalCase{10, 9, 3, SizeStep::k16, 0, 16},
           GoalCase{10, 100, 3, SizeStep::k128, 0, 128},
           GoalCase{10, 700, 3, SizeStep::m1, 0, 1024},
           GoalCase{10, 5000, 3, SizeStep::m4, 4096, 2048},
           // A group has 8192 blocks of 1K, and this chunk begins at a multiple of 8192.
           GoalCase{10, 8200, 3, SizeStep::m4, 8192, 2048},
           GoalCase{11, 0, 1, SizeStep::k16, 0, 8},
           GoalCase{11, 3000, 3, SizeStep::m4, 2048, 1024},
           GoalCase{11, 3000, 3, SizeStep::m8, 2048, 2048},
           // With 64K blocks, a step that is shorter than a block gives a goal without length (see
           // the next test).
           GoalCase{16, 0, 1, SizeStep::k64, 0, 1},
           GoalCase{16, 1, 1, SizeStep::k128, 0, 2},
           GoalCase{16, 5, 1, SizeStep::m1, 0, 16},
           GoalCase{16, 40, 1, SizeStep::m4, 32, 32},
           GoalCase{16, 70, 1, SizeStep::m8, 64, 64},
           GoalCase{16, 200, 1, SizeStep::large, 128, 128},
           GoalCase{16, 200, 129, SizeStep::large, 200, 129},
       }) {
    Bench bench(geometry_of(c.block_bits));
    const Normalized n = bench.run(c.logical, c.len, c.step);
    EXPECT_TRUE(n.consistent);
    EXPECT_EQ(n.goal.logical, c.goal_logical) << c.block_bits << " " << c.logical;
    EXPECT_EQ(n.goal.len, c.goal_len) << c.block_bits << " " << c.logical;
    EXPECT_EQ(n.goal.group, 7u);
    EXPECT_EQ(n.goal.start, 11u);
    EXPECT_EQ(n.flags, 0u);
  }
}

TEST(Normalize, StepThatMissesTheRequestIsInconsistent) {
  Bench bench(geometry_of(12));
  for (const SizeStep step : {SizeStep::k16, SizeStep::k64}) {
    const Normalized n = bench.run(16, 4, step);
    EXPECT_FALSE(n.consistent);
    EXPECT_EQ(n.goal, (Extent{7, 11, 4, 16})) << "the request itself";
  }
  Bench large(geometry_of(16));
  EXPECT_FALSE(large.run(0, 1, SizeStep::k32).consistent);
}

TEST(Normalize, BigallocCountsClusters) {
  Bench bench(geometry_of(10, 4));
  // The goal is blocks 0 to 127 of the file, counted in clusters of 16 blocks.
  const Normalized n = bench.run(32, 1, SizeStep::k128);
  EXPECT_EQ(n.goal.logical, 0u);
  EXPECT_EQ(n.goal.len, 8u);
  bench.request.left_block = 9000 + 15;
  bench.request.left_logical = 31;
  const Normalized after = bench.run(32, 1, SizeStep::k128);
  EXPECT_EQ(after.goal.logical, 32u);
  EXPECT_EQ(after.goal.len, 6u);
  EXPECT_EQ(after.goal.group, 0u);
  EXPECT_EQ(after.goal.start, 9016u / 16);
}

TEST(Normalize, StartsAfterTheLeftNeighbourAndAimsBehindIt) {
  Bench bench(geometry_of(12));
  bench.request.left_block = 40000;
  bench.request.left_logical = 9;
  const Normalized n = bench.run(10, 2, SizeStep::k128);
  EXPECT_EQ(n.goal.logical, 10u);
  EXPECT_EQ(n.goal.len, 22u);
  EXPECT_EQ(n.goal.group, 1u);
  EXPECT_EQ(n.goal.start, 40001u - 32768u);
  EXPECT_EQ(n.flags, mb::hint_try_goal);
}

TEST(Normalize, ADistantLeftNeighbourGivesNoGoal) {
  Bench bench(geometry_of(12));
  bench.request.left_block = 40000;
  bench.request.left_logical = 520;
  // The chunk is blocks 512 to 1023 of the file. The left neighbour ends at block 520, so the goal
  // begins at 521.
  const Normalized near = bench.run(700, 2, SizeStep::m4);
  EXPECT_EQ(near.goal.logical, 521u);
  EXPECT_EQ(near.goal.len, 503u);
  EXPECT_EQ(near.flags, mb::hint_try_goal);
  bench.request.left_logical = 400;
  const Normalized far = bench.run(700, 2, SizeStep::m4);
  EXPECT_EQ(far.goal.logical, 512u);
  EXPECT_EQ(far.goal.len, 512u);
  EXPECT_EQ(far.flags, 0u);
  EXPECT_EQ(far.goal.group, 7u);
}

TEST(Normalize, StopsAtTheRightNeighbourAndAimsInFrontOfIt) {
  Bench bench(geometry_of(12));
  bench.request.right_block = 40000;
  bench.request.right_logical = 20;
  const Normalized n = bench.run(10, 2, SizeStep::k128);
  EXPECT_EQ(n.goal.logical, 0u);
  EXPECT_EQ(n.goal.len, 20u);
  EXPECT_EQ(n.goal.start, 40000u - 20 - 32768);
  EXPECT_EQ(n.flags, mb::hint_try_goal);
}

TEST(Normalize, TheLeftNeighbourDecidesWhenBothTouch) {
  Bench bench(geometry_of(12));
  bench.request.left_block = 50;
  bench.request.left_logical = 9;
  bench.request.right_block = 40000;
  bench.request.right_logical = 20;
  const Normalized n = bench.run(10, 2, SizeStep::k128);
  EXPECT_EQ(n.goal, (Extent{0, 51, 10, 10}));
}

TEST(Normalize, AGoalOutsideTheFileSystemIsNoGoal) {
  Bench bench(geometry_of(12));
  bench.request.right_block = 19;  // the goal would start before block 0
  bench.request.right_logical = 20;
  EXPECT_EQ(bench.run(10, 2, SizeStep::k128).flags, 0u);
  bench.request = {};
  bench.request.left_block = bench.geometry.blocks_count - 1;
  bench.request.left_logical = 9;
  EXPECT_EQ(bench.run(10, 2, SizeStep::k128).flags, 0u);
  Bench small(geometry_of(10));
  small.request.right_block = 20;  // block 0 lies before the first data block
  small.request.right_logical = 20;
  EXPECT_EQ(small.run(10, 2, SizeStep::k128).flags, 0u);
}

TEST(Normalize, TouchesButDoesNotCrossPreallocations) {
  Bench bench(geometry_of(12));
  bench.prealloc(2, 4);     // blocks 2 to 5
  bench.prealloc(40, 8);    // blocks 40 to 47
  bench.prealloc(100, 50);  // does not overlap the goal
  const Normalized n = bench.run(10, 2, SizeStep::k256);
  EXPECT_TRUE(n.consistent);
  EXPECT_EQ(n.goal.logical, 6u);
  EXPECT_EQ(n.goal.len, 34u);
}

TEST(Normalize, NearestPreallocationsCountWhateverTheirOrder) {
  for (const bool reversed : {false, true}) {
    Bench bench(geometry_of(12));
    bench.prealloc(reversed ? 30 : 50, 4);
    bench.prealloc(reversed ? 50 : 30, 4);
    bench.prealloc(reversed ? 0 : 4, 2);
    bench.prealloc(reversed ? 4 : 0, 2);
    const Normalized n = bench.run(10, 2, SizeStep::k256);
    EXPECT_EQ(n.goal.logical, 6u);
    EXPECT_EQ(n.goal.len, 24u);
  }
}

TEST(Normalize, NoLongerThanAGroup) {
  state::MountedGeometry g = geometry_of(12);
  g.clusters_per_group = g.blocks_per_group = 264;
  g.blocks_count = 26400;
  Bench bench(g);
  const Normalized n = bench.run(600, 2, SizeStep::m4);
  EXPECT_EQ(n.goal.logical, 528u) << "the group's multiple at or below the request";
  EXPECT_EQ(n.goal.len, 264u);
  // The kernel clips the range first at the neighbour, and then to the size of a group.
  bench.request.left_block = 10;
  bench.request.left_logical = 539;
  const Normalized after = bench.run(600, 2, SizeStep::m4);
  EXPECT_EQ(after.goal.logical, 540u);
  EXPECT_EQ(after.goal.len, 264u);
}

TEST(Normalize, EndsWithTheLargestFile) {
  Bench bench(geometry_of(12));
  const Normalized n = bench.run(0xfffffffe, 1, SizeStep::m4);
  EXPECT_TRUE(n.consistent);
  EXPECT_EQ(n.goal.logical, 0xfffffe00u);
  EXPECT_EQ(n.goal.len, 511u);
}

// Kernels before 5.4.244, 5.10.181, 5.15.113 and 6.1.30 do not keep the goal next to the neighbour.
TEST(Normalize, APlaceNextToANeighbourMayBeLost) {
  Bench bench(geometry_of(12));
  bench.request.left_block = 40000;
  bench.request.left_logical = 99;
  const Normalized aimed = bench.run(100, 2, SizeStep::k512);
  bench.neighbour = allocator::NeighbourGoal::lost;
  const Normalized lost = bench.run(100, 2, SizeStep::k512);
  EXPECT_EQ(aimed.flags, mb::hint_try_goal);
  EXPECT_EQ(lost.flags, mb::hint_try_goal) << "the goal is tried, wherever it is";
  EXPECT_EQ(bench.geometry.block_of(aimed.goal.group, aimed.goal.start), 40001u);
  EXPECT_EQ(lost.goal.group, 7u);
  EXPECT_EQ(lost.goal.start, 11u);
  EXPECT_EQ(lost.goal.logical, aimed.goal.logical);
  EXPECT_EQ(lost.goal.len, aimed.goal.len);
}

TEST(PlaceInGoal, EachKernelHasItsOwnPlace) {
  using allocator::Placement;
  const state::MountedGeometry g = geometry_of(12);
  const Extent goal = {0, 0, 512, 0};
  const auto place = [&](std::uint32_t logical, std::uint32_t len, std::uint32_t found,
                         Placement placement) {
    return place_in_goal(g, {0, 0, len, logical}, goal, found, placement);
  };
  for (const Placement at : {Placement::over_end, Placement::over_start})
    EXPECT_EQ(place(470, 10, 64, at), 448u) << "at the goal's end";
  // At the goal's start, the extent would cover the start of the request, but not its end.
  EXPECT_EQ(place(60, 10, 64, Placement::over_end), 60u);
  EXPECT_EQ(place(60, 10, 64, Placement::over_start), 0u);
  // With Placement::window, the place depends on the spare length, the distance to the goal's
  // start, and the alignment of the extent.
  EXPECT_EQ(place(470, 10, 64, Placement::window), 448u);
  EXPECT_EQ(place(60, 10, 64, Placement::window), 6u);
  EXPECT_EQ(place(40, 10, 64, Placement::window), 0u);
  EXPECT_EQ(place(100, 10, 64, Placement::window), 64u);
}

TEST(PlaceInGoal, TheWindowCountsClustersAsBlocks) {
  state::MountedGeometry g = geometry_of(12);
  g.cluster_bits = 4;
  EXPECT_EQ(place_in_goal(g, {0, 0, 2, 160}, {0, 0, 32, 0}, 8, allocator::Placement::window), 158u);
}

Request sized(std::uint64_t bytes, bool open_for_write = true) {
  Request r = data_request(20, 1, bytes);
  r.open_for_write = open_for_write;
  return r;
}

Mode mode_by_size(const state::MountedGeometry& g, const allocator::Tunables& t, const Extent& orig,
                  const Request& request) {
  return allocator::mode_by_size(g, t, orig, request, true);
}

TEST(ModeBySize, SmallFilesShareLargeOnesStream) {
  const state::MountedGeometry g = geometry_of(12);
  allocator::Tunables t;
  const Extent first = {0, 0, 1, 0};
  EXPECT_EQ(mode_by_size(g, t, first, sized(100)), Mode::group);
  EXPECT_EQ(mode_by_size(g, t, first, sized(64 * kKiB)), Mode::group);
  EXPECT_EQ(mode_by_size(g, t, first, sized(64 * kKiB + 1)), Mode::stream);
  EXPECT_EQ(mode_by_size(g, t, {0, 0, 1, 15}, sized(100)), Mode::group);
  EXPECT_EQ(mode_by_size(g, t, {0, 0, 2, 15}, sized(100)), Mode::stream);
  t.mb_stream_req = 4;
  EXPECT_EQ(mode_by_size(g, t, first, sized(16 * kKiB)), Mode::group);
  EXPECT_EQ(mode_by_size(g, t, first, sized(16 * kKiB + 1)), Mode::stream);
  t.mb_group_prealloc = 0;
  EXPECT_EQ(mode_by_size(g, t, first, sized(100)), Mode::stream);
}

TEST(ModeBySize, ClosedFilesThatEndHereGetNoPreallocation) {
  const state::MountedGeometry g = geometry_of(12);
  const allocator::Tunables t;
  const Extent last = {0, 0, 4, 96};  // ends at block 100
  EXPECT_EQ(mode_by_size(g, t, last, sized(400 * kKiB, false)), Mode::noprealloc);
  EXPECT_EQ(mode_by_size(g, t, last, sized(399 * kKiB, false)), Mode::noprealloc);
  EXPECT_EQ(mode_by_size(g, t, last, sized(401 * kKiB, false)), Mode::stream);
  EXPECT_EQ(mode_by_size(g, t, last, sized(400 * kKiB, true)), Mode::stream);
  // Small files still share a group preallocation.
  EXPECT_EQ(mode_by_size(g, t, {0, 0, 2, 0}, sized(8 * kKiB, false)), Mode::group);
  Request unknown = sized(400 * kKiB, false);
  unknown.inputs_exact = false;
  EXPECT_EQ(mode_by_size(g, t, last, unknown), Mode::stream);
}

// Kernels up to 5.10, and 5.15 up to 5.15.70, preallocate nothing for small files that are closed.
TEST(ModeBySize, OldKernelsGiveSmallClosedFilesWhatTheyAskFor) {
  const state::MountedGeometry g = geometry_of(12);
  const allocator::Tunables t;
  const Extent all = {0, 0, 2, 0};
  const auto mode = [&](std::uint64_t bytes, bool open) {
    return allocator::mode_by_size(g, t, all, sized(bytes, open), false);
  };
  EXPECT_EQ(mode(8 * kKiB, false), Mode::noprealloc);
  EXPECT_EQ(mode(8 * kKiB, true), Mode::group);
  EXPECT_EQ(mode(12 * kKiB, false), Mode::group) << "the request ends before the file";
}

TEST(ModeAsRecorded, ASmallClosedFileOfAnOldKernelIsGroupedByANewOne) {
  const state::MountedGeometry g = geometry_of(12);
  allocator::Tunables t;
  const auto mode = [&](Mode recorded, std::uint32_t end, bool groups_closed_files) {
    return allocator::mode_as_recorded(recorded, g, t, {0, 0, 2, end - 2}, groups_closed_files);
  };
  EXPECT_EQ(mode(Mode::noprealloc, 16, true), Mode::group);
  EXPECT_EQ(mode(Mode::noprealloc, 17, true), Mode::noprealloc) << "longer than mb_stream_req";
  EXPECT_EQ(mode(Mode::noprealloc, 16, false), Mode::noprealloc);
  EXPECT_EQ(mode(Mode::group, 16, false), Mode::group) << "nothing shows whether it was closed";
  EXPECT_EQ(mode(Mode::stream, 16, true), Mode::stream);
  t.mb_group_prealloc = 0;
  EXPECT_EQ(mode(Mode::noprealloc, 16, true), Mode::noprealloc);
}

}  // namespace
}  // namespace e4r::test
