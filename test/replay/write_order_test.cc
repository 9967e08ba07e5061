// SPDX-License-Identifier: GPL-2.0-or-later
// Compares the order of allocations with a list of every allocated block.
#include "replay/accounts.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "util/rng.h"

namespace e4r::replay {
namespace {

struct Device {
  WriteOrder order;
  std::map<std::uint64_t, FileLayout> files;
  void write(std::uint64_t ino, const FileExtent& extent) {
    order.placed(ino, files[ino], extent);
    files[ino].map(extent);
  }
};

TEST(WriteOrder, OneFileInOnePieceIsInOrder) {
  Device d;
  d.write(1, {0, 100, 4});
  d.write(1, {4, 104, 4});
  EXPECT_EQ(d.order.allocations, 2u);
  EXPECT_EQ(d.order.adjacent, 1u);
  EXPECT_EQ(d.order.neighbours, 7u);
  EXPECT_EQ(d.order.in_order, 7u);
  EXPECT_EQ(d.order.continued, 1u);
  EXPECT_EQ(d.order.interrupted, 0u);
}

// The two files are neighbours on the device, but their blocks were allocated alternately.
TEST(WriteOrder, TwoFilesThatTakeTurnsAreInterleaved) {
  Device d;
  for (std::uint64_t i = 0; i < 3; ++i) {
    d.write(1, {i * 2, 100 + i * 4, 2});
    d.write(2, {i * 2, 102 + i * 4, 2});
  }
  EXPECT_EQ(d.order.adjacent, 5u);
  EXPECT_EQ(d.order.neighbours, 10u);
  EXPECT_EQ(d.order.in_order, 6u);
  EXPECT_EQ(d.order.continued, 4u);
  EXPECT_EQ(d.order.interrupted, 4u);
}

TEST(WriteOrder, ABlockBeforeItsSuccessorIsOutOfOrder) {
  Device d;
  d.write(1, {4, 100, 2});
  d.write(1, {2, 102, 2});
  EXPECT_EQ(d.order.neighbours, 3u);
  EXPECT_EQ(d.order.in_order, 2u);
  EXPECT_EQ(d.order.continued, 0u);
}

TEST(WriteOrder, NothingHandedOutCountsForNothing) {
  Device d;
  d.write(1, {0, 100, 0});
  EXPECT_EQ(d.order.allocations, 0u);
  EXPECT_EQ(d.order.neighbours, 0u);
}

// A list of every block with its sequence number must give the same figures.
TEST(WriteOrder, RandomWritesAgreeWithOneByOne) {
  Rng rng(3);
  Device d;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> when;  // (inode, block)
  std::uint64_t now = 0, neighbours = 0, in_order = 0, adjacent = 0, device = 50;
  for (int step = 0; step < 3000; ++step) {
    const std::uint64_t ino = rng.between(1, 3);
    FileExtent extent = {rng.below(4000), rng.between(100, 9000), rng.between(1, 5)};
    const auto& extents = d.files[ino].extents();
    if (!extents.empty() && rng.chance(1, 2)) extent.logical = extents.back().end();
    if (rng.chance(1, 2)) extent.block = device;
    bool fresh = true;
    for (std::uint64_t i = 0; i < extent.len; ++i)
      fresh = fresh && !when.contains({ino, extent.logical + i});
    if (!fresh) continue;
    adjacent += step > 0 && now > 0 && extent.block == device ? 1 : 0;
    device = extent.block + extent.len;
    d.write(ino, extent);
    for (std::uint64_t i = 0; i < extent.len; ++i) when[{ino, extent.logical + i}] = ++now;
  }
  for (const auto& [at, number] : when) {
    const auto next = when.find({at.first, at.second + 1});
    if (next == when.end()) continue;
    ++neighbours;
    in_order += next->second == number + 1 ? 1 : 0;
  }
  EXPECT_EQ(d.order.neighbours, neighbours);
  EXPECT_EQ(d.order.in_order, in_order);
  EXPECT_EQ(d.order.adjacent, adjacent);
  EXPECT_GT(d.order.interrupted, 0u);
  EXPECT_LT(d.order.interrupted, d.order.continued);
}

}  // namespace
}  // namespace e4r::replay
