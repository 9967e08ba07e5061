// SPDX-License-Identifier: GPL-2.0-or-later
// Tests where searches begin under three kinds of policies: rotalloc, as posted for Linux 6.18.6 in
// February 2026; its opposite (low-first); and policies that spread searches by CPU or inode.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "allocator/search.h"
#include "support/full_groups.h"
#include "support/model.h"

namespace e4r::test {
namespace {

using allocator::Decision;
using allocator::Request;

struct SearchStart : FullGroups {
  void start(std::string_view policy) {
    rig.emplace(policy, fs, tunables);
    load_all(rig->state);
  }
  // Requests 512 clusters of metadata near `group`.
  Decision ask(std::uint32_t group = 0) {
    return rig->allocator.allocate(metadata_request(512, fs.geometry().first_block(group)));
  }
  // Requests `len` clusters of a file of 3 MiB near `group`.
  Decision ask_large(std::uint32_t len, std::uint32_t group, std::uint64_t ino = 20) {
    Request r = data_request(ino, len, 3 * kMiB);
    r.goal = fs.geometry().first_block(group);
    return rig->allocator.allocate(r);
  }
  // Appends to a file of a thousand clusters that ends just before `cluster` of `group`. The goal
  // has up to 24 clusters and is at `cluster`.
  Decision append(std::uint32_t len, std::uint32_t group, std::uint32_t cluster) {
    Request r = data_request(20, len, 3 * kMiB);
    r.logical = 1000;
    r.goal = fs.geometry().block_of(group, cluster);
    r.left_block = r.goal - 1;
    r.left_logical = 999;
    return rig->allocator.allocate(r);
  }
  void give_back(const Decision& d) {
    ASSERT_TRUE(
        rig->state.free_clusters(d.result.group, d.result.start, d.result.len, 1, true).ok());
  }
};

const char* const kRotating[] = {"rotalloc", "rotalloc-own-goal"};

TEST_F(SearchStart, TheCursorMovesOnAndComesRound) {
  for (const std::uint32_t group : {3u, 7u, 12u}) fs.free(group, 4, 512);
  for (const char* policy : kRotating) {
    start(policy);
    const Decision first = ask(10);
    EXPECT_EQ(first.goal.group, 0u) << "the wanted group does not count";
    EXPECT_EQ(first.result.group, 3u);
    give_back(first);
    EXPECT_EQ(ask().result.group, 3u) << "from where the last one ended, that group included";
    EXPECT_EQ(ask().result.group, 7u);
    give_back(first);
    const Decision on = ask();
    EXPECT_EQ(on.goal.group, 7u);
    EXPECT_EQ(on.result.group, 12u) << "what is free behind the cursor waits";
    EXPECT_EQ(ask(15).result.group, 3u) << "round the end";
  }
  start("linux-7.3");
  const Decision first = ask();
  (void)ask();
  give_back(first);
  EXPECT_EQ(ask().result.group, 3u);
}

// Streams, small files and metadata share the cursor. A request that a preallocation serves does
// not search.
TEST_F(SearchStart, AllSearchesShareTheCursor) {
  for (const std::uint32_t group : {3u, 12u}) free_runs(fs, group, 4, 600, 3);
  for (const char* policy : kRotating) {
    start(policy);
    ASSERT_EQ(ask_large(300, 3).result.group, 3u);
    const Decision small = rig->allocator.allocate(data_request(30, 3, 100));
    EXPECT_EQ(small.goal.group, 3u);
    while (ask(0).result.group == 3) continue;
    const Decision stream = ask_large(300, 3, 21);
    EXPECT_EQ(stream.goal.group, 12u);
    EXPECT_EQ(stream.goal.start, UINT32_MAX) << "of a stream it is the group alone, as in 7.3";
    Request rest = data_request(20, 100, 3 * kMiB);
    rest.logical = 300;
    const Decision hit = rig->allocator.allocate(rest);
    ASSERT_TRUE(hit.prealloc);
    EXPECT_EQ(hit.result.group, 3u);
    EXPECT_EQ(ask(0).goal.group, 12u);
  }
}

TEST_F(SearchStart, ASearchThatFindsNothingPutsTheCursorBack) {
  fs.free(7, 4, 512);
  for (const char* policy : kRotating) {
    start(policy);
    const Decision only = ask();
    ASSERT_EQ(only.result.group, 7u);
    EXPECT_FALSE(ask().success);
    give_back(only);
    EXPECT_EQ(ask().goal.group, 0u);
  }
}

// The posting also moves the goal of a growing file away from the file's end, so the file stays
// contiguous only by chance.
TEST_F(SearchStart, WhetherAFileGoesOnBehindItsLastBlock) {
  fs.free(3, 1200, 300);
  fs.free(12, 4, 512);
  fs.free(12, 700, 400);
  const auto grown = [&](const char* policy) {
    start(policy);
    EXPECT_EQ(ask().result.group, 12u);
    return append(8, 3, 1200);
  };
  const Decision moved = grown("rotalloc");
  EXPECT_EQ(moved.goal.group, 12u);
  EXPECT_EQ(moved.result.group, 12u);
  for (const char* policy : {"rotalloc-own-goal", "low-first", "linux-7.3"}) {
    const Decision own = grown(policy);
    EXPECT_EQ(own.result.group, 3u) << policy;
    EXPECT_EQ(own.result.start, 1200u) << policy;
  }
}

// If the request does not use a stream, its goal moves to the cursor's group but keeps its position
// within the group. The search tries it there.
TEST_F(SearchStart, AMovedGoalIsTriedAtItsPlaceInTheCursorsGroup) {
  fs.free(3, 600, 1000);
  fs.free(12, 4, 512);
  fs.free(12, 1200, 400);
  start("rotalloc");
  (void)ask();
  ASSERT_EQ(ask().result.group, 12u);
  Request r = metadata_request(8, fs.geometry().block_of(3, 1250));
  r.flags = mb::hint_try_goal;
  const Decision d = rig->allocator.allocate(r);
  EXPECT_EQ(d.goal.group, 12u);
  EXPECT_EQ(d.result.start, 1250u);
}

TEST_F(SearchStart, LowAddressesAreUsedAgainFirst) {
  for (const std::uint32_t group : {2u, 9u, 15u}) fs.free(group, 512, 1024);
  start("low-first");
  EXPECT_EQ(ask(15).result.group, 2u);
  const Decision second = ask_large(512, 15);
  EXPECT_EQ(second.result.group, 2u) << "streams too";
  EXPECT_EQ(ask(15).result.group, 9u);
  EXPECT_EQ(ask_large(512, 9, 21).result.group, 9u);
  give_back(second);
  EXPECT_EQ(ask(15).result.group, 2u);
  EXPECT_EQ(ask_large(300, 9, 22).goal.group, 0u);
}

// A search begins at a distance after the goal's group that depends on the CPU or the inode. It
// wraps around at the last group. The result is the first group with room.
TEST_F(SearchStart, EachCpuOrInodeBeginsElsewhere) {
  const std::vector<std::uint32_t> roomy = {2, 9, 15};
  for (const std::uint32_t group : roomy) fs.free(group, 512, 1024);
  for (const bool by_cpu : {true, false}) {
    std::set<std::uint32_t> begun;
    for (std::uint32_t number = 0; number < 40; ++number) {
      start(by_cpu ? "spread-by-cpu" : "spread-by-inode");
      Request r = metadata_request(512, fs.geometry().first_block(18));
      r.ino = 100;
      if (by_cpu)
        r.cpu = number;
      else
        r.ino += number;
      const std::uint64_t of = by_cpu ? r.cpu : r.ino;
      const std::uint32_t from = (18 + allocator::spread_groups(of, 20)) % 20;
      const auto next = std::ranges::lower_bound(roomy, from);
      const Decision d = rig->allocator.allocate(r);
      EXPECT_EQ(d.goal.group, from);
      EXPECT_EQ(d.result.group, next == roomy.end() ? 2u : *next);
      begun.insert(from);
    }
    EXPECT_GT(begun.size(), 15u) << "numbers that follow each other are far apart";
    // A stream still searches from the stream goal. A goal that is free is still used.
    EXPECT_EQ(ask_large(300, 9).goal.group, 0u);
    EXPECT_EQ(append(8, 9, 700).result.start, 700u);
  }
}

TEST(SpreadGroups, AreThoseOfTheKernel) {
  // The expected numbers are hash_32(number, 32), scaled to the number of groups by
  // reciprocal_scale().
  EXPECT_EQ(allocator::spread_groups(0, 1000), 0u);
  EXPECT_EQ(allocator::spread_groups(1, 1000), 1000ull * 0x61c88647 >> 32);
  EXPECT_EQ(allocator::spread_groups(2, 1000), 1000ull * 0xc3910c8e >> 32);
  EXPECT_EQ(allocator::spread_groups(3, 1000), 1000ull * 0x255992d5 >> 32);
  EXPECT_EQ(allocator::spread_groups((1ull << 32) + 3, 1000), allocator::spread_groups(3, 1000));
  EXPECT_LT(allocator::spread_groups(UINT32_MAX, UINT32_MAX), UINT32_MAX);
}

}  // namespace
}  // namespace e4r::test
