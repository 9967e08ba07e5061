// SPDX-License-Identifier: GPL-2.0-or-later
#include "shrinker/status_cache.h"

#include <gtest/gtest.h>

#include <vector>

namespace e4r::shrinker {
namespace {

namespace es = trace::es;

std::vector<std::uint64_t> order(StatusCache& cache) {
  std::vector<std::uint64_t> out;
  for (const StatusCache::Inode* inode : cache.list()) out.push_back(inode->ino);
  return out;
}

using Inodes = std::vector<std::uint64_t>;

TEST(StatusCache, InodesAreOnTheListWhileTheyHaveReclaimableEntries) {
  StatusCache cache;
  cache.insert(11, {0, 1, 0, es::delayed});
  EXPECT_EQ(order(cache), Inodes{});
  cache.insert(12, {0, 1, 50, es::written});
  cache.insert(11, {5, 1, 60, es::written});
  cache.insert(12, {9, 1, 70, es::written});
  EXPECT_EQ(order(cache), (Inodes{12, 11}));
  EXPECT_EQ(cache.entries(), 4u);
  EXPECT_EQ(cache.reclaimable(), 3u);
  cache.remove(12, 0, kLastBlock);
  EXPECT_EQ(order(cache), Inodes{11});
}

// Replacing an entry first removes it. So an inode that has only this entry moves to the tail of
// the list.
TEST(StatusCache, ReplacingTheOnlyEntryMovesTheInodeToTheTail) {
  StatusCache cache;
  cache.insert(11, {0, 4, 50, es::written});
  cache.insert(12, {0, 4, 60, es::written});
  cache.insert(11, {0, 4, 50, es::written});
  EXPECT_EQ(order(cache), (Inodes{12, 11}));
}

TEST(StatusCache, LookupsMoveNothingUnlessTheOrderIsByUse) {
  for (const bool by_use : {false, true}) {
    StatusCache cache;
    if (by_use) cache.order_by_use();
    cache.insert(11, {0, 4, 50, es::written});
    cache.insert(12, {0, 4, 60, es::written});
    EXPECT_TRUE(cache.look_up(11, 2).entry);
    EXPECT_EQ(order(cache), by_use ? (Inodes{12, 11}) : (Inodes{11, 12}));
  }
}

TEST(StatusCache, WhatWasReclaimedIsMissedUntilItComesBack) {
  StatusCache cache;
  cache.insert(11, {0, 4, 50, es::written});
  EXPECT_FALSE(cache.look_up(11, 7).was_reclaimed);
  StatusCache::Inode& inode = *cache.list().front();
  cache.reclaim(inode, inode.tree.begin());
  EXPECT_EQ(order(cache), Inodes{});
  EXPECT_TRUE(cache.look_up(11, 3).was_reclaimed);
  EXPECT_FALSE(cache.look_up(11, 4).was_reclaimed);
  cache.cache(11, {0, 4, 50, es::written});
  EXPECT_TRUE(cache.look_up(11, 3).entry);
  cache.remove(11, 0, kLastBlock);
  EXPECT_FALSE(cache.look_up(11, 3).was_reclaimed);
}

TEST(StatusCache, ForgettingDropsTheEntryThatHoldsTheBlock) {
  StatusCache cache;
  cache.insert(11, {0, 4, 50, es::written});
  cache.forget(11, 9);
  cache.forget(12, 0);
  EXPECT_EQ(cache.entries(), 1u);
  cache.forget(11, 3);
  EXPECT_EQ(cache.entries(), 0u);
  EXPECT_EQ(order(cache), Inodes{});
}

}  // namespace
}  // namespace e4r::shrinker
