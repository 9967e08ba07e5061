// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/kernel.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "guest/guest.h"
#include "guest/kernel_file.h"
#include "image/image.h"
#include "replay/load.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace e4r::guest {
namespace {

class KernelTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto made = test::run({"mke2fs", "-q", "-t", "ext4", "-b", "4096", image_path_, "256M"});
    ASSERT_EQ(made.status, 0) << made.err;
    auto image = image::Image::open(image_path_);
    ASSERT_TRUE(image.ok()) << image.error().message;
    image_.emplace(*std::move(image));
    source_ = replay::source_from(*image_);
  }
  Result<std::unique_ptr<KernelDecider>> start(const std::string& name,
                                               const std::string& mount = {},
                                               std::vector<TreeTunable> own = {}) {
    const std::string path = dir_.file(name);
    std::filesystem::copy_file(FAKE_KERNEL, path);
    const auto policy = kernel_policy(path);
    if (!policy.ok()) return policy.error();
    KernelOptions options;
    options.policy = *policy;
    options.kernel = path;
    options.image = options.named = image_path_;
    options.mount_options = mount;
    options.own_tunables = std::move(own);
    options.tunables = allocator::defaults_for(source_.geometry);
    options.loaded = true;
    options.planted = planted_;
    return KernelDecider::start(source_, options);
  }
  static allocator::Request request(std::uint32_t len) {
    allocator::Request out;
    out.ino = 12;
    out.len = len;
    out.flags = mb::hint_data;
    return out;
  }

  test::TempDir dir_;
  std::string image_path_ = dir_.file("image");
  std::optional<image::Image> image_;
  state::Source source_;
  allocator::Planted planted_;
};

TEST_F(KernelTest, NotesTheLocksOfItsRequests) {
  auto kernel = start("good");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  allocator::LockNotes notes;
  (void)(*kernel)->allocate(request(3), nullptr);
  (*kernel)->note_locks(notes);
  (void)(*kernel)->allocate(request(3), nullptr);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes.names(), (std::vector<std::string>{"group", "s_mb_lists", "lg_mutex"}));
  EXPECT_EQ(notes[0].ns, 1000u);
  using What = allocator::LockStep::What;
  const auto& steps = notes[0].steps;
  ASSERT_EQ(steps.size(), 6u);
  EXPECT_EQ(steps[0].what, What::sleep);
  EXPECT_EQ(steps[1].what, What::tries);
  EXPECT_EQ(steps[1].lock, allocator::LockStep::kOfGroup | 3);
  EXPECT_EQ(steps[1].ns, 100u);
  EXPECT_EQ(steps[2].what, What::share);
  EXPECT_EQ(steps[5].what, What::let_go);
  EXPECT_EQ(steps[5].ns, 950u);
}

// If a kernel reports impossible lock operations, they are corrected: each lock is taken and then
// released by its holder, and the times are in order.
TEST_F(KernelTest, LocksThatMakeNoSenseAreNotNoted) {
  auto kernel = start("confused");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  allocator::LockNotes notes;
  (*kernel)->note_locks(notes);
  (void)(*kernel)->allocate(request(3), nullptr);
  ASSERT_EQ(notes.size(), 1u);
  std::map<std::uint64_t, std::uint16_t> held;
  std::uint32_t at = 0;
  EXPECT_GT(notes[0].steps.size(), 100u);
  for (const allocator::LockStep& step : notes[0].steps) {
    EXPECT_GE(step.ns, at);
    at = step.ns;
    ASSERT_LT(step.name, notes.names().size());
    if (step.what == allocator::LockStep::What::let_go) {
      ASSERT_EQ(held.count(step.lock), 1u);
      EXPECT_EQ(held[step.lock], step.name);
      held.erase(step.lock);
    } else {
      EXPECT_TRUE(held.try_emplace(step.lock, step.name).second);
    }
  }
  EXPECT_TRUE(held.empty());
  EXPECT_GE(notes[0].ns, at);
}

TEST_F(KernelTest, WhatItHandsOutIsInUse) {
  auto kernel = start("good");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  std::vector<std::uint64_t> before, after;
  (*kernel)->state().settled_words(0, before);
  const allocator::Decision decision = (*kernel)->allocate(request(8), nullptr);
  ASSERT_TRUE(decision.success);
  EXPECT_EQ(decision.block, 5000u);
  EXPECT_EQ(decision.len, 8u);
  EXPECT_EQ(decision.ns, 100u);
  EXPECT_EQ(decision.criterion, mb::Criterion::cr0);
  (*kernel)->state().settled_words(0, after);
  EXPECT_EQ(before[5000 / 64] | 0xffull << 5000 % 64, after[5000 / 64]);
  EXPECT_TRUE((*kernel)->free(0, 5000, 8, true));
  EXPECT_FALSE((*kernel)->free(0, 5000, 8, true));
  (*kernel)->state().settled_words(0, after);
  EXPECT_EQ(before, after);
  ASSERT_TRUE((*kernel)->finish().ok());
  EXPECT_NE((*kernel)->account()->mb_stats.find("reqs: 2"), std::string::npos);
  // The kernel's process has ended.
  EXPECT_FALSE((*kernel)->status().ok());
}

TEST_F(KernelTest, ATunableThatTheTreeDoesNotHaveIsSaid) {
  EXPECT_TRUE(start("good", {}, {{"mb_window", "8"}}).ok());
  const auto refused = start("another", {}, {{"mb_window", "8"}, {"mb_no_such", "8"}});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("no tunable mb_no_such"), std::string::npos)
      << refused.error().message;
}

TEST_F(KernelTest, AnOptionThatTheTreeDoesNotHaveIsSaid) {
  EXPECT_TRUE(start("good", "rotalloc").ok());
  const auto refused = start("another", "rotalloc,no_such");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("cannot mount " + image_path_), std::string::npos)
      << refused.error().message;
}

TEST_F(KernelTest, OneThatHandsOutWhatIsInUseIsNotBelieved) {
  auto kernel = start("twice");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  (void)(*kernel)->allocate(request(4), nullptr);
  EXPECT_TRUE((*kernel)->status().ok());
  (void)(*kernel)->allocate(request(4), nullptr);
  ASSERT_FALSE((*kernel)->status().ok());
  EXPECT_NE((*kernel)->status().error().message.find("handed out block 5000"), std::string::npos);
}

// An answer that names a place outside the file system is an error.
TEST_F(KernelTest, PlacesThatCannotBeAreNotBelieved) {
  for (const char* name :
       {"odd-len", "odd-block", "odd-end", "odd-group", "odd-goal", "odd-orig", "odd-buddy"}) {
    SCOPED_TRACE(name);
    auto kernel = start(name);
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    EXPECT_FALSE((*kernel)->allocate(request(4), nullptr).success && (*kernel)->status().ok());
    ASSERT_FALSE((*kernel)->status().ok());
    EXPECT_TRUE(is_kernels_fault((*kernel)->status().error()))
        << (*kernel)->status().error().message;
  }
  // These answers are valid. Since 6.17 the goal of a stream is only a group, and a goal may be
  // longer than a small group.
  for (const char* name : {"odd-criterion", "stream-goal", "long-goal"}) {
    auto kernel = start(name);
    ASSERT_TRUE(kernel.ok());
    EXPECT_TRUE((*kernel)->allocate(request(4), nullptr).success) << name;
    EXPECT_TRUE((*kernel)->status().ok()) << name;
  }
}

// With each request, the kernel receives the size of the inode and the number of its writers. This
// test checks both.
TEST_F(KernelTest, AFileIsAsLargeAsTheTraceHasShown) {
  keep_consoles();
  using allocator::Mode;
  using allocator::SizeStep;
  constexpr std::uint64_t kMiB = 1 << 20;
  struct Case {
    Mode mode;
    SizeStep step;
    std::uint64_t hint, logical;  // known size of the file in bytes; file block of the request
    std::uint64_t bytes;          // the resulting size
    unsigned writers;
  };
  // Requests are for 4 blocks of 4 KiB.
  const Case cases[] = {
      {Mode::stream, SizeStep::large, 0, 63744, 249 * kMiB + 16384, 1},
      {Mode::stream, SizeStep::large, 300 * kMiB, 63744, 300 * kMiB, 1},
      {Mode::stream, SizeStep::large, 0, 0, 8 * kMiB + 1, 1},
      {Mode::stream, SizeStep::m1, 300 * kMiB, 0, allocator::smallest_in(SizeStep::m1), 1},
      {Mode::unknown, SizeStep::unknown, 0, 63744, 249 * kMiB + 16384, 1},
      {Mode::unknown, SizeStep::unknown, 300 * kMiB, 0, 300 * kMiB, 1},
      {Mode::group, SizeStep::unknown, 40960, 0, 40960, 1},
      {Mode::group, SizeStep::unknown, 300 * kMiB, 0, 16384, 1},
      {Mode::noprealloc, SizeStep::unknown, 300 * kMiB, 63744, 249 * kMiB + 16384, 0},
  };
  std::string expected;
  {
    auto kernel = start("says-sizes");
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    std::uint64_t ino = 12;
    for (const Case& one : cases) {
      allocator::Request asked = request(4);
      asked.ino = ino++;
      asked.logical = static_cast<std::uint32_t>(one.logical);
      asked.size_hint = one.hint;
      asked.inputs.mode = one.mode;
      asked.inputs.size = one.step;
      const allocator::Decision made = (*kernel)->allocate(asked, nullptr);
      ASSERT_TRUE(made.success);
      EXPECT_EQ(made.size_guessed, one.mode != Mode::noprealloc);
      EXPECT_EQ(made.writers_guessed, one.mode != Mode::noprealloc);
      expected +=
          fmt::format("inode {}: {} bytes, {} writers\n", asked.ino, one.bytes, one.writers);
    }
    allocator::Request recorded = request(4);
    recorded.inputs_exact = true;
    recorded.size_hint = 77;
    const allocator::Decision made = (*kernel)->allocate(recorded, nullptr);
    EXPECT_FALSE(made.size_guessed || made.writers_guessed);
    expected += "inode 12: 77 bytes, 1 writers\n";
  }
  EXPECT_NE(kept_consoles().find(expected), std::string::npos) << kept_consoles();
}

// Preallocations are made in their old order, and join their owners' lists at their old places.
TEST_F(KernelTest, GetsWhatWasInMemory) {
  using Kind = state::Prealloc::Kind;
  constexpr std::uint64_t kNobody = allocator::PlantedPrealloc::kNobody;
  keep_consoles();
  {
    planted_.preallocs = {
        {.owner = 12, .group = 0, .start = 2000, .len = 16, .logical = 64, .made = 9},
        {.owner = 12, .group = 0, .start = 3000, .len = 8, .logical = 0, .made = 2},
        {.kind = Kind::group, .owner = 1, .group = 0, .start = 4000, .len = 100, .made = 7},
        {.kind = Kind::group, .owner = 1, .group = 0, .start = 4200, .len = 99, .made = 5},
        {.kind = Kind::group, .owner = 1, .group = 0, .start = 4400, .len = 3, .made = 1},
        {.kind = Kind::group, .owner = kNobody, .group = 0, .start = 4500, .len = 1, .made = 8}};
    planted_.freed = {{0, 5000, 7, 0, 1}, {0, 4900, 2, 0, 2}};
    planted_.first_free = {{0, 40}};
    planted_.by_largest = {1, 0};
    planted_.by_average = {0};
    auto kernel = start("says-planted");
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    ASSERT_TRUE((*kernel)->allocate(request(1), nullptr).success);
  }
  const std::uint64_t first = source_.geometry.block_of(0, 0);
  std::string expected;
  const auto line = [&](std::string_view who, std::uint64_t start, std::string_view rest) {
    expected += fmt::format("{}{}{}\n", who, first + start, rest);
  };
  line("take ", 5000, "+7");
  line("take ", 4900, "+2");
  line("free ", 5000, "+7");
  line("free ", 4900, "+2");
  line("cpu 1: ", 4400, "+3 at 0, after 0");
  line("inode 12: ", 3000, "+8 at 0, after 0");
  line("cpu 1: ", 4200, "+99 at 0, after 0");
  line("cpu 1: ", 4000, "+100 at 0, after 0");
  line(fmt::format("cpu {}: ", UINT32_MAX), 4500, "+1 at 0, after 0");
  line("inode 12: ", 2000, "+16 at 64, after 0");
  expected +=
      "group 0: flags 4, 40\ngroup 1: flags 1, 0\ngroup 0: flags 1, 0\ngroup 0: flags 2, 0\n";
  EXPECT_NE(kept_consoles().find(expected), std::string::npos) << kept_consoles();
}

TEST_F(KernelTest, SaysThatAFreedExtentIsNotFree) {
  planted_.freed = {{0, 5000, 7, 0, 1}};
  const auto kernel = start("cannot-take");
  ASSERT_FALSE(kernel.ok());
  EXPECT_NE(kernel.error().message.find("clusters 5000+7 of group 0 wait for a commit, but "),
            std::string::npos)
      << kernel.error().message;
}

// A kernel in a guest has one CPU, so the request tells it what other CPUs did meanwhile.
TEST_F(KernelTest, LearnsWhatOthersDidMeanwhile) {
  keep_consoles();
  {
    planted_.streams = {{13, 0, 77}};
    auto kernel = start("says-races");
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    allocator::Request asked = request(4);
    const auto ask = [&](std::uint64_t number, std::uint64_t ino) {
      asked.number = number;
      asked.ino = ino;
      ASSERT_TRUE((*kernel)->allocate(asked, nullptr).success);
    };
    ask(1, 13);  // continues at the stream goal that was set before the trace
    asked.inputs.passed_over.add(5);
    asked.inputs.passed_over.add(0);
    asked.inputs.passed_over.add(5);
    asked.inputs.loses_best = true;
    allocator::HeldLocks held;
    held.set(3).set(127);
    asked.held = &held;
    ask(2, 12);  // needs no new goal: the kernel knows where the first search ended
    EXPECT_EQ((*kernel)->counters().groups_left, 2u);
    asked.held = nullptr;
    asked.inputs = {};
    asked.inputs.continues_from = 1;  // the second search had not ended yet
    ask(3, 13);
  }
  EXPECT_NE(kept_consoles().find("inode 13: locked, stream goal 0/77\n"
                                 "inode 12: locked 5 at 3 0 at 1 held 3 held 127, loses its best\n"
                                 "inode 13: locked, stream goal 0/5000\n"),
            std::string::npos)
      << kept_consoles();
}

// A search may have passed a group before another thread changed it.
TEST_F(KernelTest, PassesEarlierStatesOn) {
  keep_consoles();
  const std::uint32_t blocks = source_.geometry.blocks_per_group;
  {
    auto kernel = start("says-races");
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    (*kernel)->pretend(0, 30, 5, false);
    (*kernel)->pretend(0, 40, 6, true);
    (*kernel)->pretend(0, blocks - 2, 5, true);  // leaves the group
    ASSERT_TRUE((*kernel)->allocate(request(16), nullptr).success);
  }
  EXPECT_NE(kept_consoles().find("pretend block 30+5 in use\n"
                                 "pretend block 40+6 free\n"
                                 "inode"),
            std::string::npos)
      << kept_consoles();
}

// A request may be decided when a commit has returned only part of its clusters.
TEST_F(KernelTest, ReturnsPartsOfACommit) {
  keep_consoles();
  source_.geometry.journal = true;
  {
    auto kernel = start("says-races");
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    ASSERT_TRUE((*kernel)->allocate(request(16), nullptr).success);  // blocks 5000 to 5015
    const auto free = [&](std::uint64_t event, std::uint32_t start) {
      (*kernel)->note_event(event);
      ASSERT_TRUE((*kernel)->free(0, start, 1, true));
    };
    (*kernel)->commit_until(9);  // no commit has begun
    free(10, 5000);
    free(20, 5008);
    (*kernel)->begin_commit();
    free(30, 5012);  // in the next transaction
    (*kernel)->commit_until(15);
    (*kernel)->commit_until(18);  // returns no further clusters
    (*kernel)->commit_until(25);
    (*kernel)->end_commit();
    (*kernel)->commit_until(40);
    ASSERT_TRUE((*kernel)->allocate(request(1), nullptr).success);  // waits for all calls above
  }
  const std::string expected =
      "commit until group 0, cluster 5000\ncommit until group 0, cluster 5008\n";
  EXPECT_NE(kept_consoles().find(expected), std::string::npos) << kept_consoles();
  EXPECT_EQ(kept_consoles().find("5012"), std::string::npos) << kept_consoles();
}

// Kernels refuse journal options if there is no journal. They also refuse some of their own default
// values as tunables.
TEST_F(KernelTest, IsAskedForNothingThatItMustRefuse) {
  source_.geometry.journal = false;
  const auto kernel = start("picky");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  allocator::Tunables tunables = (*kernel)->tunables();
  tunables.mb_max_to_scan = 7;
  tunables.mb_stripe = 99;  // fixed by the mount
  (*kernel)->retune(tunables);
  EXPECT_TRUE((*kernel)->status().ok());
  EXPECT_EQ((*kernel)->tunables().mb_max_to_scan, 7u);
  EXPECT_EQ((*kernel)->tunables().mb_stripe, 0u);
  tunables.mb_group_prealloc = 100;
  (*kernel)->retune(tunables);
  ASSERT_FALSE((*kernel)->status().ok());
  EXPECT_NE((*kernel)->status().error().message.find("mb_group_prealloc"), std::string::npos);
}

TEST_F(KernelTest, WhoRunsAheadIsToldEachDecisionInItsTurn) {
  auto kernel = start("good");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  std::vector<std::uint64_t> blocks;
  (*kernel)->run_ahead(
      [&](const allocator::Decision& decision, std::optional<std::uint64_t> considered) {
        blocks.push_back(decision.block);
        EXPECT_EQ(decision.orig.len, 2u);
        EXPECT_EQ(considered, 3u);
      });
  constexpr std::uint32_t kMany = 2500;  // more than can be in flight at once
  for (std::uint32_t i = 0; i < kMany; ++i) {
    EXPECT_FALSE((*kernel)->allocate(request(2), nullptr).success);
    EXPECT_TRUE((*kernel)->free(0, 5000, 1, true));  // the fake kernel accepts any free
  }
  ASSERT_TRUE((*kernel)->finish().ok());
  ASSERT_EQ(blocks.size(), kMany);
  for (std::uint32_t i = 0; i < kMany; ++i) EXPECT_EQ(blocks[i], 5000u + 2 * i);
}

// A kernel without mb_stats cannot report how many groups it considered.
TEST_F(KernelTest, GroupsAreUnknownWithoutMbStats) {
  for (const auto& [name, complete] : {std::pair("good", true), std::pair("no-stats", false)}) {
    SCOPED_TRACE(name);
    auto kernel = start(name);
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    (void)(*kernel)->allocate(request(2), nullptr);
    EXPECT_EQ((*kernel)->counters().requests, 1u);
    EXPECT_EQ((*kernel)->counters().considered(), complete ? std::optional(3u) : std::nullopt);
    ASSERT_TRUE((*kernel)->finish().ok());
    EXPECT_EQ((*kernel)->account()->mb_stats.empty(), !complete);
  }
}

// A wrong answer that arrives while tunables are written is still reported.
TEST_F(KernelTest, AWrongAnswerBeforeATunableIsSaid) {
  auto kernel = start("odd-group");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  (*kernel)->run_ahead([](const allocator::Decision&, std::optional<std::uint64_t>) {
    ADD_FAILURE() << "the answer was believed";
  });
  (void)(*kernel)->allocate(request(1), nullptr);
  allocator::Tunables tunables = (*kernel)->tunables();
  tunables.mb_max_to_scan = 7;
  (*kernel)->retune(tunables);
  ASSERT_FALSE((*kernel)->status().ok());
  EXPECT_TRUE(is_kernels_fault((*kernel)->status().error()));
}

TEST_F(KernelTest, AnEndIsToldBehindWhatWasDecidedBefore) {
  auto kernel = start("dies-later");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  std::uint32_t told = 0;
  (*kernel)->run_ahead([&](const allocator::Decision&, std::optional<std::uint64_t>) { ++told; });
  for (std::uint32_t i = 0; i < 20; ++i) (void)(*kernel)->allocate(request(1), nullptr);
  EXPECT_FALSE((*kernel)->finish().ok());
  EXPECT_EQ(told, 5u);
}

TEST_F(KernelTest, AfterItsEndNothingIsDecided) {
  auto kernel = start("dies");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  EXPECT_FALSE((*kernel)->allocate(request(4), nullptr).success);
  EXPECT_FALSE((*kernel)->status().ok());
  EXPECT_FALSE((*kernel)->allocate(request(4), nullptr).success);
  EXPECT_FALSE((*kernel)->finish().ok());
}

}  // namespace
}  // namespace e4r::guest
