// SPDX-License-Identifier: GPL-2.0-or-later
// Tests the loop that zeroes tables, on very simple tables. crash_test.cc uses real tables.
#include "lazyinit/zeroer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <numeric>

#include "lazyinit/fake_tables.h"
#include "lazyinit/recording_target.h"

namespace e4r::lazyinit {
namespace {

using test::FakeTables;
using test::RecordingTarget;

constexpr std::uint32_t kGroups = 24;
constexpr std::uint64_t kPart = FakeTables::kTable - FakeTables::kUsed;

std::vector<std::byte> filled(std::uint32_t groups) {
  std::vector<std::byte> bytes(FakeTables::kHead + groups * FakeTables::kTable, std::byte{0x77});
  std::fill_n(bytes.begin(), FakeTables::kHead, std::byte{0});
  return bytes;
}

std::vector<std::uint32_t> all_groups() {
  std::vector<std::uint32_t> groups(kGroups);
  std::iota(groups.begin(), groups.end(), 0u);
  return groups;
}

bool is_zero(const std::vector<std::byte>& disk, const ByteRange& range) {
  const auto begin = disk.begin() + static_cast<std::ptrdiff_t>(range.offset);
  return std::all_of(begin, begin + static_cast<std::ptrdiff_t>(range.length),
                     [](std::byte b) { return b == std::byte{0}; });
}

// Groups that are flagged as zero on `disk`, but whose unused part is not zero.
int lies(const std::vector<std::byte>& disk) {
  int count = 0;
  RecordingTarget target(disk);
  const FakeTables tables(target, kGroups);
  for (const Table& table : tables.tables())
    count += table.zeroed && !is_zero(disk, table.unused_part) ? 1 : 0;
  return count;
}

class Zeroer : public testing::Test {
 protected:
  ZeroOutcome run(const ZeroOptions& options = {}) {
    FakeTables tables(target_, kGroups);
    const auto outcome = zero_tables(target_, tables, all_groups(), options,
                                     [this](const ZeroProgress& p) { progress_.push_back(p); });
    EXPECT_TRUE(outcome.ok()) << outcome.error().message;
    return outcome.ok() ? *outcome : ZeroOutcome{};
  }

  void expect_all_done() {
    const FakeTables tables(target_, kGroups);
    for (const Table& table : tables.tables()) {
      EXPECT_TRUE(table.zeroed) << table.group;
      EXPECT_TRUE(is_zero(target_.bytes(), table.unused_part)) << table.group;
      EXPECT_EQ(target_.bytes()[table.whole.offset], std::byte{0x77}) << "the used part";
      EXPECT_EQ(target_.bytes()[table.unused_part.offset - 1], std::byte{0x77});
    }
  }

  RecordingTarget target_{filled(kGroups)};
  std::vector<ZeroProgress> progress_;
};

TEST_F(Zeroer, ZeroesUnusedPartsAndSetsFlags) {
  const ZeroOutcome outcome = run();
  expect_all_done();
  EXPECT_EQ(outcome.zeroed, kGroups);
  EXPECT_EQ(outcome.found_zero, 0u);
  EXPECT_EQ(outcome.bytes_written, kGroups * kPart);
  EXPECT_EQ(outcome.bytes_zeroed, 0u);
  EXPECT_EQ(outcome.bytes_avoided, kGroups * FakeTables::kUsed);
  EXPECT_FALSE(outcome.stopped);
}

TEST_F(Zeroer, ReportsProgressUpToTheEnd) {
  run({.threads = 4});
  ASSERT_EQ(progress_.size(), kGroups);
  for (std::size_t i = 0; i < progress_.size(); ++i) {
    EXPECT_EQ(progress_[i].groups_done, i + 1);
    EXPECT_EQ(progress_[i].groups_total, kGroups);
  }
  EXPECT_EQ(progress_.back().bytes_done, kGroups * kPart);
  EXPECT_EQ(progress_.back().bytes_total, kGroups * kPart);
}

TEST_F(Zeroer, ManyThreadsDoTheSame) {
  const ZeroOutcome outcome = run({.threads = 8, .sync_every = 2 * kPart});
  expect_all_done();
  EXPECT_EQ(outcome.bytes_written, kGroups * kPart);
}

TEST_F(Zeroer, PassesOverWhatIsFlagged) {
  run();
  const std::size_t before = target_.operations();
  const ZeroOutcome outcome = run();
  EXPECT_EQ(outcome.zeroed + outcome.found_zero, 0u);
  EXPECT_EQ(target_.operations(), before + 1) << "the closing sync only";
}

TEST_F(Zeroer, ProbingWritesOnlyWhatIsNotZero) {
  FakeTables tables(target_, kGroups);
  for (std::uint32_t group = 0; group < kGroups; group += 2)
    ASSERT_TRUE(target_.zero(tables.tables()[group].unused_part.offset, kPart).ok());
  const ZeroOutcome outcome = run({.probe = true});
  expect_all_done();
  EXPECT_EQ(outcome.found_zero, kGroups / 2);
  EXPECT_EQ(outcome.zeroed, kGroups / 2);
  EXPECT_EQ(outcome.bytes_written, kGroups / 2 * kPart);
  EXPECT_EQ(outcome.bytes_avoided, kGroups * FakeTables::kUsed + kGroups / 2 * kPart);
}

TEST_F(Zeroer, WhatIsUnreadableIsZeroedAndCounted) {
  FakeTables tables(target_, kGroups);
  const ByteRange part = tables.tables()[7].unused_part;
  ASSERT_TRUE(target_.zero(part.offset, part.length).ok());
  target_.damage(part.offset + 512, 512);
  const ZeroOutcome outcome = run({.probe = true});
  EXPECT_EQ(outcome.unreadable, 1u);
  EXPECT_EQ(outcome.zeroed, kGroups) << "that one too";
}

TEST_F(Zeroer, SyncsOncePerBatchAndAtTheEnd) {
  run({.sync_every = 4 * kPart});
  EXPECT_EQ(target_.syncs(), kGroups / 4 + 1u);
}

TEST_F(Zeroer, AFoundZeroTableIsSyncedBeforeItsFlag) {
  FakeTables tables(target_, kGroups);
  for (const Table& table : tables.tables())
    ASSERT_TRUE(target_.zero(table.unused_part.offset, kPart).ok()) << "not synced";
  run({.probe = true});
  Rng rng(1);
  for (std::size_t point = 0; point <= target_.operations(); ++point)
    for (int i = 0; i < 10; ++i) ASSERT_EQ(lies(target_.after_crash(point, rng)), 0) << point;
}

TEST_F(Zeroer, NoFlagLiesWhereverPowerFails) {
  for (const unsigned threads : {1u, 4u}) {
    RecordingTarget target(filled(kGroups));
    FakeTables tables(target, kGroups);
    ASSERT_TRUE(
        zero_tables(target, tables, all_groups(), {.threads = threads, .sync_every = 3 * kPart})
            .ok());
    Rng rng(threads);
    for (std::size_t point = 0; point <= target.operations(); ++point)
      for (int i = 0; i < 20; ++i)
        ASSERT_EQ(lies(target.after_crash(point, rng)), 0) << point << " seed " << threads;
  }
}

// Repeats the test above with syncs that do nothing. Flags can then reach the disk before their
// tables, and the test must notice it.
TEST_F(Zeroer, AMissingSyncIsSeen) {
  target_.forget_syncs();
  run({.sync_every = 3 * kPart});
  Rng rng(1);
  int found = 0;
  for (std::size_t point = 0; point <= target_.operations(); ++point)
    for (int i = 0; i < 20; ++i) found += lies(target_.after_crash(point, rng));
  EXPECT_GT(found, 100);
}

TEST_F(Zeroer, AnErrorEndsItAndLeavesNoLie) {
  for (std::size_t at = 0; at < 30; ++at) {
    RecordingTarget target(filled(kGroups));
    target.fail_from(at);
    FakeTables tables(target, kGroups);
    const auto outcome =
        zero_tables(target, tables, all_groups(), {.threads = 2, .sync_every = 2 * kPart});
    ASSERT_FALSE(outcome.ok()) << at;
    EXPECT_EQ(outcome.error().message, "recording: made to fail");
    EXPECT_EQ(lies(target.bytes()), 0) << at;
  }
}

TEST_F(Zeroer, StopsAfterTheGroupsUnderWay) {
  std::atomic<bool> stop = false;
  FakeTables tables(target_, kGroups);
  const ZeroOptions options{.stop = &stop};
  const auto outcome = zero_tables(target_, tables, all_groups(), options,
                                   [&](const ZeroProgress& p) { stop = p.groups_done == 5; });
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome->stopped);
  EXPECT_EQ(outcome->zeroed, 5u);
  EXPECT_EQ(lies(target_.bytes()), 0);
  const FakeTables after(target_, kGroups);
  EXPECT_EQ(std::ranges::count_if(after.tables(), &Table::zeroed), 5) << "what was done is kept";
  stop = false;
  EXPECT_EQ(run().zeroed, kGroups - 5u);
  expect_all_done();
}

TEST_F(Zeroer, APauseFirstKeepsWhatWasDone) {
  int asked = 0;
  std::atomic<bool> stop = false;
  std::size_t kept = 0;
  ZeroOptions options{.stop = &stop};
  options.pace.paused = [&] {
    ++asked;
    if (asked <= 4) return false;
    const FakeTables now(target_, kGroups);
    kept = static_cast<std::size_t>(std::ranges::count_if(now.tables(), &Table::zeroed));
    stop = asked == 6;
    return true;
  };
  EXPECT_TRUE(run(options).stopped);
  EXPECT_EQ(kept, 4u) << "committed before waiting";
}

TEST_F(Zeroer, RefusesWithoutGroupChecksums) {
  FakeTables tables(target_, kGroups);
  tables.drop_checksums();
  EXPECT_FALSE(zero_tables(target_, tables, all_groups(), {}).ok());
  EXPECT_EQ(target_.operations(), 0u);
}

TEST_F(Zeroer, RefusesAGroupThatDoesNotExist) {
  FakeTables tables(target_, kGroups);
  const std::vector<std::uint32_t> groups = {0, kGroups};
  const auto outcome = zero_tables(target_, tables, groups, {});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().message, "group 24 does not exist: the last one is 23");
  EXPECT_EQ(target_.operations(), 0u);
}

TEST_F(Zeroer, IdleDoesNotOutliveTheRun) {
  const int before = ::getpriority(PRIO_PROCESS, 0);
  int inside = 0;
  FakeTables tables(target_, kGroups);
  ZeroOptions options;
  options.pace.idle = true;
  ASSERT_TRUE(zero_tables(target_, tables, all_groups(), options, [&](const ZeroProgress&) {
                inside = ::getpriority(PRIO_PROCESS, 0);
              }).ok());
  EXPECT_EQ(inside, 19);
  EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), before);
}

TEST_F(Zeroer, AMultiplierSyncsEveryGroup) {
  ZeroOptions options;
  options.pace.wait_multiplier = 1;
  run(options);
  expect_all_done();
  EXPECT_GE(target_.syncs(), kGroups);
}

}  // namespace
}  // namespace e4r::lazyinit
