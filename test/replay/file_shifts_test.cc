// SPDX-License-Identifier: GPL-2.0-or-later
// Tests when a range that fallocate() removed or inserted takes effect in a replay.
#include <gtest/gtest.h>

#include "replay/file_shifts.h"

namespace e4r::replay {
namespace {

constexpr std::uint64_t kIno = 12;

// Compares shifts by their place, which differs in every test.
std::vector<std::uint64_t> places(const std::vector<FileShift>& shifts) {
  std::vector<std::uint64_t> out;
  out.reserve(shifts.size());
  for (const FileShift& shift : shifts) out.push_back(shift.at);
  return out;
}

// A file without blocks in the ranges, and a file with one block.
bool is_empty(std::uint64_t, std::uint64_t) {
  return false;
}
FileShifts::IsMapped has_block(std::uint64_t logical) {
  return [logical](std::uint64_t first, std::uint64_t last) {
    return first <= logical && logical <= last;
  };
}
// A request that says nothing about its file.
constexpr FileShifts::Shown kNothing = {UINT64_MAX, {}, {}, {}, {}};

TEST(FileShifts, WaitUntilTheyMatter) {
  FileShifts shifts;
  EXPECT_FALSE(shifts.add(kIno, {100, 10, false}));
  // A request below the range, whose neighbours lie below it, too.
  EXPECT_TRUE(shifts.settle(kIno, {50, 20, 60, 20, 60}, is_empty).empty());
  EXPECT_EQ(shifts.count(kIno), 0u);
  // Its right neighbour had file block 130 and now has 120.
  EXPECT_EQ(places(shifts.settle(kIno, {50, 20, 120, 20, 130}, is_empty)),
            std::vector<std::uint64_t>{100});
  EXPECT_EQ(shifts.count(kIno), 1u);
  EXPECT_EQ(shifts.move(kIno, 0, 130), 120u);
  EXPECT_EQ(shifts.move(kIno, 1, 130), 130u);
  EXPECT_EQ(shifts.move(kIno, 0, 105), std::nullopt);
}

TEST(FileShifts, ThatFailedAreDropped) {
  FileShifts shifts;
  EXPECT_FALSE(shifts.add(kIno, {100, 10, true}));
  EXPECT_TRUE(shifts.settle(kIno, {150, 140, {}, 140, {}}, is_empty).empty());
  EXPECT_EQ(shifts.count(kIno), 0u);
  EXPECT_TRUE(shifts.settle(kIno, kNothing, is_empty).empty());
}

TEST(FileShifts, OnlyThoseThatExplainTheNeighboursTakeEffect) {
  FileShifts shifts;
  EXPECT_FALSE(shifts.add(kIno, {100, 10, true}));
  EXPECT_FALSE(shifts.add(kIno, {50, 3, true}));
  EXPECT_FALSE(shifts.add(kIno, {60, 7, false}));
  EXPECT_EQ(places(shifts.settle(kIno, {300, 200, {}, 204, {}}, is_empty)),
            (std::vector<std::uint64_t>{50, 60}));
}

TEST(FileShifts, AllTakeEffectIfNothingContradictsThem) {
  FileShifts shifts;
  EXPECT_FALSE(shifts.add(kIno, {100, 10, true}));
  EXPECT_FALSE(shifts.add(kIno, {50, 3, true}));
  EXPECT_EQ(places(shifts.settle(kIno, {300, 200, {}, {}, {}}, is_empty)),
            (std::vector<std::uint64_t>{100, 50}));
  // No set of shifts leads to this neighbour.
  EXPECT_FALSE(shifts.add(kIno, {20, 10, true}));
  EXPECT_EQ(places(shifts.settle(kIno, {300, 200, {}, 777, {}}, is_empty)),
            std::vector<std::uint64_t>{20});
}

// The kernel frees the blocks of a range before it moves the data after the range. So a range that
// still has blocks was not removed.
TEST(FileShifts, ARangeWithBlocksWasNotRemoved) {
  FileShifts shifts;
  EXPECT_FALSE(shifts.add(kIno, {431, 219, false}));
  EXPECT_FALSE(shifts.add(kIno, {353, 11, false}));
  EXPECT_EQ(places(shifts.settle(kIno, {371, 352, 373, 352, 384}, has_block(606))),
            std::vector<std::uint64_t>{353});
  // The block has number 595 now.
  EXPECT_FALSE(shifts.add(kIno, {100, 5, false}));
  EXPECT_FALSE(shifts.add(kIno, {200, 10, true}));
  EXPECT_FALSE(shifts.add(kIno, {600, 1, false}));
  EXPECT_EQ(places(shifts.settle(kIno, kNothing, has_block(595))),
            (std::vector<std::uint64_t>{200, 600}));
}

// A replay may have allocated blocks ahead in a range that was removed.
TEST(FileShifts, NeighboursAreBetterEvidenceThanBlocks) {
  FileShifts shifts;
  EXPECT_FALSE(shifts.add(kIno, {100, 10, false}));
  EXPECT_EQ(places(shifts.settle(kIno, {300, 200, {}, 210, {}}, has_block(105))),
            std::vector<std::uint64_t>{100});
}

TEST(FileShifts, TheOldestTakesEffectWhenTooManyWait) {
  FileShifts shifts;
  for (std::uint64_t at = 1; at <= 6; ++at) EXPECT_FALSE(shifts.add(kIno, {at, 1, true}));
  const auto first = shifts.add(kIno, {7, 1, true});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->at, 1u);
  EXPECT_EQ(shifts.count(kIno), 1u);
}

TEST(FileShifts, PiecesOfARunMoveApart) {
  FileShifts shifts;
  EXPECT_FALSE(shifts.add(kIno, {10, 5, false}));
  EXPECT_FALSE(shifts.add(kIno, {4, 100, true}));
  ASSERT_EQ(shifts.settle(kIno, kNothing, is_empty).size(), 2u);
  const auto pieces = shifts.move(kIno, 0, 0, 20);
  ASSERT_EQ(pieces.size(), 3u);
  const std::uint64_t expected[][3] = {{0, 0, 4}, {4, 104, 6}, {15, 110, 5}};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(pieces[i].offset, expected[i][0]);
    EXPECT_EQ(pieces[i].logical, expected[i][1]);
    EXPECT_EQ(pieces[i].len, expected[i][2]);
  }
  shifts.forget(kIno);
  EXPECT_TRUE(shifts.empty());
}

}  // namespace
}  // namespace e4r::replay
