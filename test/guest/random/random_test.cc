// SPDX-License-Identifier: GPL-2.0-or-later
// Tests the comparison of two deciders, with models on both sides.
#include <gtest/gtest.h>

#include "allocator/model.h"
#include "ext4/criterion.h"
#include "guest/random/account.h"
#include "guest/random/contest.h"
#include "guest/random/draw.h"
#include "guest/random/minimise.h"
#include "guest/random/start_image.h"

namespace e4r::test::random {
namespace {

using Kind = Step::Kind;

Step step(Kind kind, std::uint64_t ino, std::uint32_t at = 0, std::uint32_t len = 0) {
  Step out;
  out.kind = kind;
  out.ino = ino;
  out.at = at;
  out.len = len;
  return out;
}

Step write_step(std::uint64_t ino, std::uint32_t at, std::uint32_t len) {
  Step out = step(Kind::write, ino, at, len);
  out.flags = mb::hint_data;
  out.size = std::uint64_t{at + len} << 12;
  out.writers = 1;
  return out;
}

// Compares the model of one policy with the model of another.
Sides models(std::string_view ours, std::string_view theirs) {
  Sides out;
  out.policy = allocator::find_policy(ours);
  out.other = [policy = allocator::find_policy(theirs)](const StartImage& image,
                                                        bool loaded) -> Result<Other> {
    auto model = std::make_unique<allocator::Model>(image.source(), *policy, image.tunables());
    for (std::uint32_t group = 0; loaded && group < model->state().group_count(); ++group)
      model->load_group(group);
    return Other{std::move(model), nullptr};
  };
  return out;
}

Verdict held(const Life& life, const Sides& sides) {
  const auto image = StartImage::make(life.shape);
  if (!image.ok()) throw std::runtime_error(image.error().message);
  auto verdict = hold(life, **image, sides);
  if (!verdict.ok()) throw std::runtime_error(verdict.error().message);
  return *std::move(verdict);
}

Life drawn(std::uint64_t seed, std::uint32_t steps) {
  Rng rng(seed);
  Life life;
  for (int tries = 0; tries < 100; ++tries) {
    life.shape = draw_shape(rng);
    const auto image = StartImage::make(life.shape);
    if (!image.ok()) continue;
    life.steps = draw_steps(rng, (*image)->source(), steps);
    return life;
  }
  throw std::runtime_error("mke2fs makes no shape");
}

TEST(RandomLife, ItsTextIsTheLife) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Life life = drawn(seed, 200);
    const std::string text = to_text(life);
    const auto read = parse_life("# a remark\n\n" + text);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(to_text(*read), text);
  }
}

TEST(RandomLife, TextThatIsNoneIsRefusedByLine) {
  const auto refused = [](std::string_view text) {
    const auto life = parse_life(text);
    return life.ok() ? std::string() : life.error().message;
  };
  EXPECT_EQ(refused("write ino=12\n"), "no line 'filesystem'");
  EXPECT_NE(refused("filesystem\nwirte ino=12\n").find("line 2: 'wirte' is not a step"),
            std::string::npos);
  EXPECT_NE(refused("filesystem gruops=2\n").find("line 1: 'gruops=2'"), std::string::npos);
  EXPECT_NE(refused("filesystem\nwrite len=4294967296\n").find("len: 4294967296 is too much"),
            std::string::npos);
  EXPECT_NE(refused("filesystem extents=2\n").find("extents: 2 is too much"), std::string::npos);
}

TEST(RandomLife, ASeedIsALife) {
  EXPECT_EQ(to_text(drawn(7, 300)), to_text(drawn(7, 300)));
  EXPECT_NE(to_text(drawn(7, 300)), to_text(drawn(8, 300)));
}

class AccountTest : public testing::Test {
 protected:
  AccountTest() {
    Shape shape;
    shape.journal = false;
    auto made = StartImage::make(shape);
    if (!made.ok()) throw std::runtime_error(made.error().message);
    image_ = *std::move(made);
  }
  static allocator::Decision given(std::uint64_t block, std::uint32_t len) {
    allocator::Decision out;
    out.success = true;
    out.block = block;
    out.len = len;
    return out;
  }
  std::unique_ptr<StartImage> image_;
};

TEST_F(AccountTest, ARequestEndsAtWhatTheFileHasAndAimsBesideIt) {
  Account account(image_->source());
  account.put(12, 10, given(5000, 4));
  account.put(12, 20, given(7000, 2));
  const auto request = account.next_request(write_step(12, 12, 30), 0);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->logical, 14u);
  EXPECT_EQ(request->len, 6u);
  EXPECT_EQ(request->left_block, 5003u);
  EXPECT_EQ(request->left_logical, 13u);
  EXPECT_EQ(request->right_block, 7000u);
  EXPECT_EQ(request->right_logical, 20u);
  EXPECT_EQ(request->goal, 5004u);
  const auto behind = account.next_request(write_step(12, 12, 30), 20);
  ASSERT_TRUE(behind);
  EXPECT_EQ(behind->logical, 22u);
  EXPECT_EQ(behind->len, 20u);
  EXPECT_FALSE(account.next_request(write_step(12, 11, 2), 0));
}

TEST_F(AccountTest, WhatIsFreedComesInRunsTheLastFirst) {
  Account account(image_->source());
  account.put(12, 0, given(5000, 4));
  account.put(12, 4, given(32766, 4));
  const auto runs = account.take(12, 2, UINT32_MAX);
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].group, 0u);
  EXPECT_EQ(runs[0].start, 32766u);
  EXPECT_EQ(runs[0].len, 2u);
  EXPECT_EQ(runs[1].group, 1u);
  EXPECT_EQ(runs[1].len, 2u);
  EXPECT_EQ(runs[2].start, 5002u);
  EXPECT_EQ(runs[2].len, 2u);
  EXPECT_EQ(account.take(12, 0, UINT32_MAX).size(), 1u);
  EXPECT_TRUE(account.take(12, 0, UINT32_MAX).empty());
}

TEST_F(AccountTest, ARequestIsHalvedUntilThereIsRoomForIt) {
  Account account(image_->source());
  // The file system has 8 groups of 4 KiB blocks. 2 % of it is more than 4,096 clusters, the
  // maximum that is reserved.
  const std::uint64_t kept = 4096;
  account.put(13, std::nullopt, given(1, static_cast<std::uint32_t>(account.free() - kept - 100)));
  allocator::Request request;
  request.len = 300;
  EXPECT_EQ(account.claimed(request), 75u);
  request.flags = mb::use_reserved;
  EXPECT_EQ(account.claimed(request), 300u);
  request.len = 5000;
  EXPECT_EQ(account.claimed(request), 2500u);
  request.flags = mb::delalloc_reserved;
  EXPECT_EQ(account.claimed(request), 5000u);
  account.put(13, std::nullopt, given(1, 100));
  request.flags = 0;
  EXPECT_EQ(account.claimed(request), 0u);
}

TEST(RandomMinimise, LeavesOnlyWhatIsNeeded) {
  Life life = drawn(3, 400);
  life.steps[100] = step(Kind::discard, 1234);
  life.steps[300] = step(Kind::evict, 1235);
  const auto shows = [](const Life& tried) {
    bool discarded = false, evicted = false;
    for (const Step& s : tried.steps) {
      discarded |= s.ino == 1234;
      evicted |= discarded && s.ino == 1235;
    }
    return evicted;
  };
  const Life least = minimise(life, shows, 10000);
  EXPECT_EQ(to_text(least.steps.at(0)), "discard ino=1234");
  EXPECT_EQ(to_text(least.steps.at(1)), "evict ino=1235");
  EXPECT_EQ(least.steps.size(), 2u);
  EXPECT_TRUE(least.shape.tunables.empty());
  EXPECT_EQ(least.shape.groups, 1u);
}

TEST(RandomMinimise, StopsAfterSoManyLives) {
  std::uint32_t tried = 0;
  const Shows shows = [&](const Life&) {
    ++tried;
    return false;
  };
  const Life life = drawn(3, 400);
  EXPECT_EQ(to_text(minimise(life, shows, 7)), to_text(life));
  EXPECT_EQ(tried, 7u);
}

TEST(RandomContest, AModelDoesNotPartFromItself) {
  std::uint64_t decisions = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Life life = drawn(seed, 300);
    const Verdict verdict = held(life, models("linux-7.3", "linux-7.3"));
    EXPECT_FALSE(verdict.parted) << seed << ": " << verdict.parted->what << '\n'
                                 << verdict.parted->request;
    decisions += verdict.decisions;
  }
  EXPECT_GT(decisions, 500u);
}

// A difference between two policies must be found and minimised, and the printed life must show it
// again.
TEST(RandomContest, TwoModelsPartAndTheShortestLifeStillShowsIt) {
  const Sides sides = models("linux-7.3", "legacy");
  for (std::uint64_t seed = 1;; ++seed) {
    ASSERT_LT(seed, 50u) << "no life shows that two kernels differ";
    const Life life = drawn(seed, 300);
    const Verdict verdict = held(life, sides);
    if (!verdict.parted || verdict.parted->request.empty()) continue;
    const std::string what = verdict.parted->what;
    const auto shows = [&](const Life& tried) {
      const auto image = StartImage::make(tried.shape);
      if (!image.ok()) return false;
      const auto again = hold(tried, **image, sides);
      return again.ok() && again->parted && again->parted->what == what;
    };
    const Life least = minimise(life, shows, 400);
    EXPECT_LT(least.steps.size(), 40u);
    const auto read = parse_life(to_text(least));
    ASSERT_TRUE(read.ok()) << read.error().message;
    const Verdict again = held(*read, sides);
    ASSERT_TRUE(again.parted);
    EXPECT_EQ(again.parted->what, what);
    EXPECT_EQ(again.parted->step + 1, least.steps.size());
    EXPECT_NE(again.parted->ours, again.parted->theirs);
    return;
  }
}

TEST(RandomContest, TunablesChangeOnBothSides) {
  Life life;
  life.shape.journal = false;
  life.steps = {write_step(12, 0, 2), step(Kind::discard, 12), Step(), write_step(13, 0, 2)};
  life.steps[2].kind = Kind::set;
  life.steps[2].text = "mb_group_prealloc=16";
  const Verdict verdict = held(life, models("linux-7.3", "linux-7.3"));
  EXPECT_FALSE(verdict.parted);
  EXPECT_EQ(verdict.decisions, 2u);
}

}  // namespace
}  // namespace e4r::test::random
