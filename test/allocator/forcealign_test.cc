// SPDX-License-Identifier: GPL-2.0-or-later
// Tests forcealign as posted in March 2025, rule by rule. extsize is 4 clusters of 4 KiB.
#include <gtest/gtest.h>

#include "support/full_groups.h"
#include "support/model.h"

namespace e4r::test {
namespace {

using allocator::Decision;
using allocator::Request;

struct Forcealign : FullGroups {
  void start(std::string_view policy = "forcealign") {
    rig.emplace(policy, fs, tunables);
    load_all(rig->state);
  }
  // Requests the `len` blocks of a file that begin at `logical`. The file ends after these blocks
  // unless `size` is larger.
  Decision ask(std::uint32_t len, std::uint32_t logical = 0, std::uint64_t size = 0,
               std::uint64_t ino = 20) {
    Request r = data_request(ino, len, std::max(size, (std::uint64_t{logical} + len) * 4096));
    r.logical = logical;
    r.open_for_write = size != 0;
    return rig->allocator.allocate(r);
  }
};

TEST_F(Forcealign, GivesAlignedBlocksOrNone) {
  fs.free(3, 6, 10);  // [8, 16) is aligned
  start();
  const Decision first = ask(4);
  ASSERT_TRUE(first.success);
  EXPECT_EQ(first.result, (Extent{3, 8, 4, 0}));
  EXPECT_EQ(ask(4, 4).result.start, 12u);
  const Decision third = ask(4, 8);
  EXPECT_FALSE(third.success) << "what is left is [6, 8)";
  EXPECT_EQ(third.len, 0u);
  EXPECT_EQ(rig->allocator.allocate(metadata_request(2, 0)).result.start, 6u);
}

TEST_F(Forcealign, RefusesWhatOthersGet) {
  for (std::uint32_t at = 2; at < 2000; at += 8) fs.free(3, at, 5);  // [2, 7): no aligned chunk
  start();
  EXPECT_FALSE(ask(4).success);
  EXPECT_FALSE(ask(1).success);
  start("linux-7.3");
  EXPECT_TRUE(ask(4).success);
}

TEST_F(Forcealign, RoundsTheLengthUpToAPowerOfTwo) {
  fs.free(3, 4, 4);
  fs.free(5, 8, 8);
  fs.free(7, 36, 12);  // [36, 48): chunks of 4 and 8
  start();
  EXPECT_EQ(ask(5).result, (Extent{5, 8, 8, 0}));
  EXPECT_EQ(ask(1, 0, 0, 21).result.len, 4u) << "no shorter than extsize";
  EXPECT_EQ(ask(8, 0, 0, 22).result, (Extent{7, 40, 8, 0}));
  EXPECT_FALSE(ask(5, 0, 0, 23).success);
}

TEST_F(Forcealign, DoesNotTryTheGoal) {
  fs.free(3, 10, 390);
  Request r = data_request(20, 4, 4096ull * 104);
  r.logical = 100;
  r.goal = fs.geometry().block_of(3, 10);
  r.left_block = r.goal - 1;
  r.left_logical = 99;
  start("linux-7.3");
  EXPECT_EQ(rig->allocator.allocate(r).result.start, 10u);
  start();
  const Decision d = rig->allocator.allocate(r);
  ASSERT_TRUE(d.success);
  EXPECT_EQ(d.result.start % d.goal.len, 0u);
}

// A file of 3 MiB has a goal of 2 MiB. The posting does not try a shorter one.
TEST_F(Forcealign, FailsWithoutTheNormalisedGoal) {
  fs.free(3, 4, 400);
  start();
  const Decision refused = ask(4, 0, 3 * kMiB);
  EXPECT_FALSE(refused.success);
  EXPECT_EQ(refused.goal.len, kGoal);
  tunables.extsize_trim = 1;
  start();
  const Decision trimmed = ask(4, 0, 3 * kMiB);
  ASSERT_TRUE(trimmed.success);
  EXPECT_EQ(trimmed.result.len, 4u);
  EXPECT_EQ(trimmed.goal.len, 4u);
}

TEST_F(Forcealign, KeepsTheStartOfTheRequest) {
  fs.free(3, 0, 2048);
  start();
  const Decision d = ask(4, 300, 3 * kMiB);
  ASSERT_TRUE(d.success);
  EXPECT_EQ(d.goal.logical, 300u) << "normalisation moves it to 0 elsewhere";
  EXPECT_EQ(d.goal.len, kGoal);
}

TEST_F(Forcealign, SmallFilesHaveNoGroupPreallocation) {
  fs.free(3, 0, 2048);
  start();
  const Decision d = ask(4, 0, 4 * 4096ull);
  EXPECT_EQ(d.inputs.mode, allocator::Mode::stream);
  EXPECT_EQ(d.goal.len, 4u);
  start("linux-7.3");
  EXPECT_EQ(ask(4, 0, 4 * 4096ull).inputs.mode, allocator::Mode::group);
}

TEST_F(Forcealign, APreallocationServesWhatIsAlignedInIt) {
  fs.free(3, 0, 2048);
  start();
  const Decision first = ask(4, 0, kMiB);
  ASSERT_EQ(first.goal.len, 256u);
  const Decision second = ask(4, 4, kMiB);
  EXPECT_TRUE(second.prealloc);
  EXPECT_EQ(second.block, first.block + 4);
  const Decision third = ask(8, 12, kMiB);
  EXPECT_FALSE(third.prealloc) << "block 12 of it is not aligned to 8";
  EXPECT_EQ(third.goal.len, 8u) << "and it gets no preallocation that would overlap";
  EXPECT_EQ(third.len, 8u);
  EXPECT_EQ(third.block % 8, 0u);
  EXPECT_TRUE(ask(8, 24, kMiB).prealloc);
}

TEST_F(Forcealign, WhatIsLeftOfAShortRequestIsThePreallocation) {
  fs.free(3, 8, 8);
  start();
  const Decision first = ask(3);
  EXPECT_EQ(first.len, 3u);
  EXPECT_EQ(first.result.len, 4u);
  const Decision next = ask(1, 3);
  EXPECT_TRUE(next.prealloc);
  EXPECT_EQ(next.block, first.block + 3);
}

TEST_F(Forcealign, ChosenInodesHaveAnExtsize) {
  fs.free(3, 1, 3);
  tunables.extsize_every = 7;
  start();
  EXPECT_FALSE(ask(2, 0, 0, 21).success);
  EXPECT_TRUE(ask(2, 0, 0, 22).success);
}

// Blocks of 1 KiB begin at block 1, so no chunk of the buddy is aligned on the device.
TEST_F(Forcealign, ChunksThatAreNotAlignedOnTheDeviceAreRefused) {
  ModelFs small({.name = "small", .groups = 20, .block_bits = 10, .clusters_per_group = 2048});
  ASSERT_EQ(small.geometry().first_data_block, 1u);
  ASSERT_EQ(allocator::defaults_for(small.geometry()).extsize, 16u);
  Rig aligned("forcealign", small);
  load_all(aligned.state);
  EXPECT_FALSE(aligned.allocator.allocate(data_request(20, 16, 16384)).success);
  Rig any("linux-7.3", small);
  load_all(any.state);
  EXPECT_TRUE(any.allocator.allocate(data_request(20, 16, 16384)).success);
  for (const std::string& problem : aligned.state.check(3)) ADD_FAILURE() << problem;
}

std::vector<trace::Event> life_of(std::string_view policy, std::uint64_t extsize) {
  ModelFs fs(model_shapes().front());
  Rng rng(5);
  ModelFiles old = add_old_files(fs, rng, 6, 2000, 20);
  allocator::Tunables tunables = allocator::defaults_for(fs.geometry());
  tunables.extsize = extsize;
  Rig rig(policy, fs, tunables);
  Workload work(rig.allocator, fs, std::move(old), {.seed = 9});
  work.run(600);
  return work.events();
}

TEST(ForcealignOff, WithoutExtsizeItIs7_3) {
  const std::vector<trace::Event> stock = life_of("linux-7.3", 4);
  EXPECT_EQ(life_of("forcealign", 0), stock);
  EXPECT_EQ(life_of("forcealign", 1), stock);
  EXPECT_NE(life_of("forcealign", 4), stock);
}

TEST(ForcealignOff, ExtsizeIsAPowerOfTwo) {
  allocator::Tunables tunables;
  EXPECT_TRUE(allocator::set_tunable(tunables, "extsize=64").ok());
  EXPECT_TRUE(allocator::set_tunable(tunables, "extsize=0").ok());
  EXPECT_EQ(allocator::set_tunable(tunables, "extsize=12").error().message,
            "extsize: 12 is not a power of two: give one, such as 4");
}

}  // namespace
}  // namespace e4r::test
