// SPDX-License-Identifier: GPL-2.0-or-later
#include "shrinker/status_cache.h"

#include <gtest/gtest.h>

#include <vector>

namespace e4r::shrinker {
namespace {

namespace es = trace::es;

const ReclaimModel& model(std::string_view name) {
  return *find_model(name);
}

// Inserts single blocks of a file. Their places on the disk are not adjacent, so the entries do not
// merge.
void fill(StatusCache& cache, std::uint64_t ino, std::uint64_t first, std::uint64_t count,
          std::uint32_t type) {
  for (std::uint64_t i = 0; i < count; ++i)
    cache.insert(ino, {first + 2 * i, 1, 1000 + 10 * (first + i), type});
}

std::vector<std::uint64_t> left(StatusCache& cache, std::uint64_t ino) {
  std::vector<std::uint64_t> out;
  for (const StatusCache::Inode* inode : cache.list())
    if (inode->ino == ino)
      for (auto& [first, entry] : const_cast<StatusCache::Inode*>(inode)->tree)
        out.push_back(first);
  return out;
}

using Blocks = std::vector<std::uint64_t>;

TEST(Reclaim, RoundRobinGoesOnWhereItWasLeft) {
  StatusCache cache;
  fill(cache, 11, 0, 5, es::written);  // blocks 0 2 4 6 8
  const ShrinkCall first = model("round-robin").scan(cache, 2);
  EXPECT_EQ(first.visited, 2u);
  EXPECT_EQ(first.reclaimed, 2u);
  EXPECT_EQ(left(cache, 11), (Blocks{4, 6, 8}));
  cache.insert(11, {0, 1, 5, es::written});
  model("round-robin").scan(cache, 2);
  EXPECT_EQ(left(cache, 11), (Blocks{0, 8}));
  // The walk reaches the end and continues at the start.
  model("round-robin").scan(cache, 2);
  EXPECT_EQ(left(cache, 11), Blocks{});
}

TEST(Reclaim, WhatWasReferencedHasASecondChance) {
  StatusCache cache;
  fill(cache, 11, 0, 3, es::written);
  (void)cache.look_up(11, 2);
  const ShrinkCall scan = model("round-robin").scan(cache, 3);
  EXPECT_EQ(scan.visited, 3u);
  EXPECT_EQ(scan.reclaimed, 2u);
  EXPECT_EQ(left(cache, 11), Blocks{2});
  EXPECT_EQ(model("round-robin").scan(cache, 3).reclaimed, 1u);
}

TEST(Reclaim, AWalkThatBeganInTheMiddleEndsWhereItBegan) {
  StatusCache cache;
  fill(cache, 11, 0, 4, es::written);  // blocks 0 2 4 6
  for (const std::uint64_t block : {0, 2, 4, 6}) (void)cache.look_up(11, block);
  EXPECT_EQ(model("round-robin").scan(cache, 2).reclaimed,
            0u);  // the call clears the marks of 0 and 2
  // The call clears the marks of 4 and 6 and reclaims 0 and 2. The walk ends before it reaches 4
  // again.
  const ShrinkCall scan = model("round-robin").scan(cache, 100);
  EXPECT_EQ(scan.visited, 4u);
  EXPECT_EQ(scan.reclaimed, 2u);
  EXPECT_EQ(left(cache, 11), (Blocks{4, 6}));
}

TEST(Reclaim, DelayedEntriesCostRoundRobinTheBudgetAndEvictableNothing) {
  for (const char* name : {"round-robin", "evictable"}) {
    StatusCache cache;
    fill(cache, 11, 0, 100, es::delayed);  // up to block 198
    cache.insert(11, {500, 1, 7, es::written});
    const ShrinkCall scan = model(name).scan(cache, 100);
    const bool evictable = std::string_view(name) == "evictable";
    EXPECT_EQ(scan.visited, evictable ? 1u : 100u) << name;
    EXPECT_EQ(scan.reclaimed, evictable ? 1u : 0u) << name;
    EXPECT_EQ(cache.entries(), evictable ? 100u : 101u);
  }
}

// An entry has grown so that it contains the cursor. Round-robin visits it twice, at the start and
// at the end of its walk.
TEST(Reclaim, EvictableVisitsEachEntryOnce) {
  for (const char* name : {"round-robin", "evictable"}) {
    StatusCache cache;
    cache.insert(11, {0, 4, 100, es::written});
    cache.insert(11, {4, 4, 200, es::written});
    (void)cache.look_up(11, 0);
    EXPECT_EQ(model(name).scan(cache, 1).reclaimed,
              0u);  // the call clears the mark; the cursor is at 4
    cache.insert(11, {0, 8, 100, es::written});
    (void)cache.look_up(11, 0);
    const ShrinkCall scan = model(name).scan(cache, 10);
    const bool once = std::string_view(name) == "evictable";
    EXPECT_EQ(scan.visited, once ? 1u : 2u) << name;
    EXPECT_EQ(scan.reclaimed, once ? 0u : 1u) << name;
  }
}

TEST(Reclaim, InodesAreWalkedInTurn) {
  StatusCache cache;
  for (const std::uint64_t ino : {11, 12, 13}) fill(cache, ino, 0, 2, es::written);
  EXPECT_EQ(model("round-robin").scan(cache, 3).inodes, 2u);
  EXPECT_EQ(left(cache, 11), Blocks{});
  EXPECT_EQ(left(cache, 12), Blocks{2});
  model("round-robin").scan(cache, 2);  // continues with 13
  EXPECT_EQ(left(cache, 12), Blocks{2});
  EXPECT_EQ(left(cache, 13), Blocks{});
}

TEST(Reclaim, TheListOf2013IsByUseAndChargesOnlyWhatItTakes) {
  StatusCache cache;
  cache.order_by_use();
  fill(cache, 11, 0, 50, es::delayed);
  fill(cache, 11, 200, 3, es::written);
  fill(cache, 12, 0, 2, es::written);
  (void)cache.look_up(11, 200);
  const ShrinkCall scan = model("lru-2013").scan(cache, 4);
  EXPECT_EQ(scan.reclaimed, 4u);
  EXPECT_EQ(scan.visited, 2u + 50u + 2u);
  EXPECT_EQ(left(cache, 12), Blocks{});
}

TEST(Reclaim, NothingIsTakenWithoutABudgetOrWithoutEntries) {
  for (const ReclaimModel& m : models()) {
    StatusCache cache;
    EXPECT_EQ(m.scan(cache, 100).visited, 0u) << m.name;
    fill(cache, 11, 0, 3, es::written);
    EXPECT_EQ(m.scan(cache, 0).reclaimed, 0u) << m.name;
    EXPECT_EQ(m.scan(cache, 1000).reclaimed, 3u) << m.name;
    EXPECT_EQ(cache.entries(), 0u) << m.name;
  }
}

TEST(Reclaim, ModelsAreFoundByName) {
  EXPECT_EQ(models().front().name, "round-robin");
  EXPECT_EQ(find_model("lru"), nullptr);
}

}  // namespace
}  // namespace e4r::shrinker
