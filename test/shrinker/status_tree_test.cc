// SPDX-License-Identifier: GPL-2.0-or-later
#include "shrinker/status_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "util/rng.h"

namespace e4r::shrinker {
namespace {

namespace es = trace::es;

std::vector<Entry> entries_of(StatusTree& tree) {
  std::vector<Entry> out;
  for (auto& [first, entry] : tree) out.push_back(entry);
  return out;
}

using Entries = std::vector<Entry>;

TEST(StatusTree, NeighboursJoinWhenTypeAndPlaceAllow) {
  StatusTree tree;
  tree.insert({10, 5, 100, es::written});
  tree.insert({15, 5, 105, es::written});  // directly after the previous entry, also on the disk
  EXPECT_EQ(entries_of(tree), (Entries{{10, 10, 100, es::written}}));
  tree.insert({5, 5, 95, es::written});
  EXPECT_EQ(entries_of(tree), (Entries{{5, 15, 95, es::written}}));
  tree.insert({20, 1, 200, es::written});    // elsewhere on the disk
  tree.insert({21, 1, 201, es::unwritten});  // of another type
  EXPECT_EQ(tree.size(), 3u);
}

TEST(StatusTree, AnEntryBetweenTwoJoinsBoth) {
  StatusTree tree;
  tree.insert({0, 4, 50, es::unwritten});
  tree.insert({8, 4, 58, es::unwritten});
  tree.insert({4, 4, 54, es::unwritten});
  EXPECT_EQ(entries_of(tree), (Entries{{0, 12, 50, es::unwritten}}));
}

TEST(StatusTree, HolesAndDelayedRunsJoinWithoutAPlace) {
  for (const std::uint32_t type : {es::hole, es::delayed}) {
    StatusTree tree;
    tree.insert({0, 4, 0, type});
    tree.insert({4, 4, 0, type});
    EXPECT_EQ(entries_of(tree), (Entries{{0, 8, 0, type}}));
  }
  StatusTree tree;
  tree.insert({0, 4, 50, es::unwritten | es::delayed});
  tree.insert({4, 4, 99, es::unwritten | es::delayed});
  EXPECT_EQ(tree.size(), 2u);
}

TEST(StatusTree, TheMarkOfTheNewEntryIsLostAndThatOfANeighbourKept) {
  StatusTree tree;
  tree.insert({0, 4, 50, es::written});
  tree.insert({4, 4, 54, es::written | es::referenced});
  EXPECT_EQ(tree.begin()->second.flags, es::written);
  tree.insert({12, 4, 62, es::written | es::referenced});
  tree.insert({8, 4, 58, es::written});
  EXPECT_EQ(entries_of(tree), (Entries{{0, 16, 50, es::written | es::referenced}}));
}

TEST(StatusTree, WhatSticksOutOfARemovedRangeStays) {
  StatusTree tree;
  tree.insert({0, 10, 100, es::written});
  tree.remove(3, 4);
  EXPECT_EQ(entries_of(tree), (Entries{{0, 3, 100, es::written}, {7, 3, 107, es::written}}));
  tree.insert({20, 10, 0, es::hole});
  tree.remove(2, 20);
  EXPECT_EQ(entries_of(tree), (Entries{{0, 2, 100, es::written}, {22, 8, 0, es::hole}}));
  tree.remove(0, kLastBlock);
  EXPECT_EQ(tree.size(), 0u);
}

TEST(StatusTree, ACachedEntryDoesNotReplaceWhatIsKnown) {
  StatusTree tree;
  tree.insert({10, 1, 0, es::delayed});
  tree.cache({0, 100, 500, es::written});
  EXPECT_EQ(entries_of(tree), (Entries{{10, 1, 0, es::delayed}}));
  tree.cache({11, 5, 511, es::written});
  EXPECT_EQ(tree.size(), 2u);
}

TEST(StatusTree, ALookupAnswersWithTheEntryAsItWasAndMarksIt) {
  StatusTree tree;
  tree.insert({10, 5, 100, es::written});
  EXPECT_FALSE(tree.look_up(9));
  EXPECT_FALSE(tree.look_up(15));
  EXPECT_EQ(tree.look_up(14), (Entry{10, 5, 100, es::written}));
  EXPECT_EQ(tree.look_up(10), (Entry{10, 5, 100, es::written | es::referenced}));
}

TEST(StatusTree, RangesAreThoseOfAFile) {
  EXPECT_TRUE(is_range(0, 1));
  EXPECT_TRUE(is_range(0, kLastBlock));
  EXPECT_TRUE(is_range(kLastBlock, 1));
  EXPECT_FALSE(is_range(5, 0));
  EXPECT_FALSE(is_range(kLastBlock, 2));
  EXPECT_FALSE(is_range(kLastBlock + 1, 1));
  EXPECT_FALSE(is_range(1, UINT64_MAX));
}

// A simple reference: the status of each block and its place on the disk.
class Plain {
 public:
  static constexpr std::uint64_t kBlocks = 64;
  struct Fact {
    std::uint32_t type = 0;  // 0: unknown
    std::uint64_t block = 0;
    friend bool operator==(const Fact&, const Fact&) = default;
  };
  void put(const Entry& e) {
    for (std::uint64_t i = 0; i < e.len; ++i)
      facts_[e.logical + i] = {e.flags, e.mapped() ? e.block + i : 0};
  }
  void remove(std::uint64_t logical, std::uint64_t len) {
    for (std::uint64_t i = 0; i < len; ++i) facts_[logical + i] = {};
  }
  [[nodiscard]] bool knows_any(const Entry& e) const {
    for (std::uint64_t i = 0; i < e.len; ++i)
      if (facts_[e.logical + i].type != 0) return true;
    return false;
  }
  friend bool operator==(const Plain&, const Plain&) = default;

 private:
  std::array<Fact, kBlocks> facts_ = {};
};

Entry draw_entry(Rng& rng) {
  static constexpr std::array kTypes = {es::written, es::unwritten, es::delayed, es::hole,
                                        es::unwritten | es::delayed};
  Entry e;
  e.logical = rng.below(Plain::kBlocks);
  e.len = 1 + rng.below(std::min<std::uint64_t>(Plain::kBlocks - e.logical, 12));
  e.flags = kTypes[rng.below(kTypes.size())];
  // The disk block is often computed from the position in the file, so that neighbours merge.
  if (e.mapped()) e.block = rng.chance(3, 4) ? 1000 + e.logical : rng.below(100);
  return e;
}

TEST(StatusTree, AgreesWithATableOfBlocks) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    std::int64_t counted = 0, kept = 0;
    StatusTree tree([&](const Entry& e, int by) {
      counted += by;
      kept += e.must_keep() ? by : 0;
    });
    Plain plain;
    for (int step = 0; step < 200; ++step) {
      const Entry e = draw_entry(rng);
      const auto what = rng.below(4);
      if (what == 0) {
        tree.remove(e.logical, e.len);
        plain.remove(e.logical, e.len);
      } else if (what == 1) {
        tree.cache(e);
        if (!plain.knows_any(e)) plain.put(e);
      } else {
        tree.insert(e);
        plain.put(e);
      }
      Plain seen;
      std::uint64_t next = 0;
      std::int64_t must_keep = 0;
      for (const Entry& entry : entries_of(tree)) {
        ASSERT_GE(entry.logical, next) << "seed " << seed << ", step " << step;
        ASSERT_GT(entry.len, 0u);
        next = entry.last() + 1;
        must_keep += entry.must_keep() ? 1 : 0;
        seen.put(entry);
      }
      ASSERT_EQ(seen, plain) << "seed " << seed << ", step " << step;
      ASSERT_EQ(counted, static_cast<std::int64_t>(tree.size()));
      ASSERT_EQ(kept, must_keep);
    }
  }
}

}  // namespace
}  // namespace e4r::shrinker
