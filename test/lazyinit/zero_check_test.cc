// SPDX-License-Identifier: GPL-2.0-or-later
// Tests how the program checks that storage is already zero: it reads all of it, or a sample.
#include "lazyinit/verify.h"

#include <gtest/gtest.h>

#include "lazyinit/recording_target.h"

namespace e4r::lazyinit {
namespace {

using test::RecordingTarget;

constexpr std::uint64_t kBlock = 512;
constexpr std::uint64_t kPart = 64 * kBlock;
constexpr std::uint32_t kParts = 200;  // 12,800 blocks, more than a sample

class ZeroCheck : public testing::Test {
 protected:
  ZeroCheck() {
    for (std::uint32_t i = 0; i < kParts; ++i) parts_.push_back({i, {2 * kPart * i, kPart}});
  }

  void damage_between_parts() {
    const std::vector<std::byte> junk(kPart, std::byte{9});
    for (const ZeroRange& part : parts_) (void)target_.write(part.range.offset + kPart, junk);
  }
  void put(std::uint64_t offset) {
    const std::vector<std::byte> one(1, std::byte{1});
    (void)target_.write(offset, one);
  }
  [[nodiscard]] Checked all(unsigned threads = 1) {
    return *check_all_zero(target_, parts_, kBlock, threads);
  }
  [[nodiscard]] Checked sample(std::uint64_t seed) {
    return *check_sample_zero(target_, parts_, kBlock, seed);
  }

  RecordingTarget target_{std::vector<std::byte>(2 * kPart * kParts)};
  std::vector<ZeroRange> parts_;
};

TEST_F(ZeroCheck, ZeroIsZeroWhateverLiesBetween) {
  damage_between_parts();
  EXPECT_FALSE(all().bad);
  EXPECT_EQ(all().blocks, kParts * 64u);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Checked checked = sample(seed);
    EXPECT_FALSE(checked.bad) << seed;
    EXPECT_EQ(checked.blocks, kSampleBlocks);
    EXPECT_EQ(checked.blocks_total, kParts * 64u);
  }
}

TEST_F(ZeroCheck, AllFindsASingleByte) {
  put(parts_[123].range.offset + 777);
  for (const unsigned threads : {1u, 4u}) {
    const Checked checked = all(threads);
    ASSERT_TRUE(checked.bad);
    EXPECT_EQ(checked.bad->group, 123u);
    EXPECT_EQ(checked.bad->offset, parts_[123].range.offset + 777);
    EXPECT_FALSE(checked.bad->unreadable);
  }
}

TEST_F(ZeroCheck, TheEarliestFindingCounts) {
  for (std::uint32_t i = 50; i < kParts; ++i) put(parts_[i].range.offset + 5);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(all(8).bad->group, 50u);
}

TEST_F(ZeroCheck, ASampleFindsWhatIsCommon) {
  for (std::uint32_t i = 0; i < kParts; i += 2)
    put(parts_[i].range.offset + kBlock * (i % 64));  // 100 of 12,800 blocks
  int found = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) found += sample(seed).bad ? 1 : 0;
  EXPECT_EQ(found, 50) << "(1 - 100/12800)^4096 is 1e-14";
}

TEST_F(ZeroCheck, ASampleTakesAnyBlock) {
  put(parts_[77].range.offset + 33 * kBlock);
  int found = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) found += sample(seed).bad ? 1 : 0;
  EXPECT_GT(found, 5) << "a third of the seeds take the one block that is not zero";
  EXPECT_LT(found, 55);
}

TEST_F(ZeroCheck, WhatCannotBeReadIsNotZero) {
  target_.damage(parts_[9].range.offset + 1024, 512);
  const Checked checked = all();
  ASSERT_TRUE(checked.bad);
  EXPECT_TRUE(checked.bad->unreadable);
  EXPECT_EQ(checked.bad->group, 9u);
}

TEST_F(ZeroCheck, FewBlocksAreAllRead) {
  parts_.resize(3);
  parts_.push_back({std::nullopt, {100 * kPart, kPart}});
  put(101 * kPart - 1);
  const Checked checked = sample(1);
  EXPECT_EQ(checked.blocks_total, 256u);
  ASSERT_TRUE(checked.bad);
  EXPECT_FALSE(checked.bad->group) << "the journal";
}

TEST_F(ZeroCheck, NothingIsZero) {
  parts_.clear();
  EXPECT_FALSE(all().bad);
  EXPECT_FALSE(sample(1).bad);
  EXPECT_EQ(sample(1).blocks, 0u);
}

}  // namespace
}  // namespace e4r::lazyinit
