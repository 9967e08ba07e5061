// SPDX-License-Identifier: GPL-2.0-or-later
#include "state/freed_list.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "util/rng.h"

namespace e4r::state {
namespace {

// Expects that the entries of each group are in the order of the list.
void expect_groups_in_order(const FreedList& list, std::uint32_t groups) {
  std::size_t entries = 0;
  for (std::uint32_t group = 0; group < groups; ++group) {
    auto next = list.entries().begin();
    for (const FreedList::Entry& entry : list.entries_of(group)) {
      next = std::find_if(next, list.entries().end(),
                          [group](const auto& listed) { return listed.group == group; });
      ASSERT_NE(next, list.entries().end());
      EXPECT_EQ(entry, *next++);
      ++entries;
    }
  }
  EXPECT_EQ(entries, list.entries().size());
}

TEST(FreedList, MergesWithinATransactionAndMovesToTheEnd) {
  FreedList list;
  EXPECT_TRUE(list.add(3, 10, 5, 1));
  EXPECT_TRUE(list.add(4, 100, 5, 1));
  EXPECT_TRUE(list.add(3, 15, 5, 1));  // merges with the first entry and moves after the second
  ASSERT_EQ(list.entries().size(), 2u);
  EXPECT_EQ(list.entries().front().group, 4u);
  EXPECT_EQ(list.entries().back().start, 10u);
  EXPECT_EQ(list.entries().back().count, 10u);
  EXPECT_TRUE(list.add(3, 25, 5, 1));
  EXPECT_TRUE(list.add(3, 20, 5, 1));  // merges with both neighbours
  EXPECT_EQ(list.entries().back().count, 20u);
}

TEST(FreedList, KeepsTransactionsApart) {
  FreedList list;
  EXPECT_TRUE(list.add(0, 10, 5, 1));
  EXPECT_TRUE(list.add(0, 15, 5, 2));
  EXPECT_EQ(list.entries().size(), 2u);
  EXPECT_TRUE(list.take_committed(2).empty());  // transaction 1 is at the head
  EXPECT_EQ(list.take_committed(1).size(), 1u);
  EXPECT_EQ(list.take_committed(2).size(), 1u);
  EXPECT_TRUE(list.empty());
}

TEST(FreedList, RefusesOverlaps) {
  FreedList list;
  EXPECT_TRUE(list.add(0, 10, 5, 1));
  EXPECT_FALSE(list.add(0, 14, 1, 1));
  EXPECT_FALSE(list.add(0, 8, 3, 1));
  EXPECT_FALSE(list.add(0, 5, 20, 1));
  EXPECT_TRUE(list.add(0, 8, 2, 1));
  EXPECT_TRUE(list.add(1, 10, 5, 1));
}

// The tree has the entry 20 at the root, with 10 and 30 below it.
TEST(FreedList, MergesWithItsParentAlone) {
  FreedList list(FreedMerging::parent);
  EXPECT_TRUE(list.add(0, 20, 2, 1));
  EXPECT_TRUE(list.add(0, 10, 2, 1));
  EXPECT_TRUE(list.add(0, 30, 2, 1));
  EXPECT_TRUE(list.add(0, 18, 2, 1));  // becomes a child of 10, but is not adjacent to it
  ASSERT_EQ(list.entries().size(), 4u);
  EXPECT_EQ(list.entries().back().start, 18u);
  EXPECT_TRUE(list.add(0, 12, 6, 1));  // becomes a child of 18 and merges with it; then 10 also
                                       // merges
  ASSERT_EQ(list.entries().size(), 3u);
  const auto taken = list.take_committed(1);
  ASSERT_EQ(taken.size(), 3u);
  EXPECT_EQ(taken[0].start, 20u);  // each merged entry keeps the list position of the lower one
  EXPECT_EQ(taken[1].start, 10u);
  EXPECT_EQ(taken[1].count, 10u);
  EXPECT_EQ(taken[2].start, 30u);
  EXPECT_TRUE(list.empty());
}

// After 10, 30 and 20 are added, 20 is the root. So 21 becomes a child of 30, and does not merge.
// Once the entries of the first transaction have left the tree, 21 becomes a child of 20.
TEST(FreedList, UnlinkedEntriesDoNotShapeTheTree) {
  for (const bool unlinks : {false, true}) {
    FreedList list(FreedMerging::parent);
    EXPECT_TRUE(list.add(0, 10, 1, 1, 1));
    EXPECT_TRUE(list.add(0, 30, 1, 1, 2));
    EXPECT_TRUE(list.add(0, 20, 1, 2, 3));
    if (unlinks) list.unlink(1, 2);
    EXPECT_TRUE(list.add(0, 21, 1, 2, 4));
    EXPECT_EQ(list.entries().size(), unlinks ? 3u : 4u);
  }
}

TEST(FreedList, KeepsUnlinkedEntriesUntilTheyAreTaken) {
  FreedList list(FreedMerging::parent);
  EXPECT_TRUE(list.add(0, 10, 2, 1, 1));
  EXPECT_TRUE(list.add(1, 10, 2, 1, 2));
  EXPECT_TRUE(list.add(0, 20, 2, 1, 3));
  list.unlink(2, 9);  // the head of the list belongs to another transaction
  list.unlink(1, 1);
  EXPECT_FALSE(list.add(0, 11, 1, 2, 4));  // removed from the tree, but still on the list
  EXPECT_FALSE(list.add(0, 21, 1, 2, 4));
  EXPECT_TRUE(list.add(0, 12, 2, 2, 4));
  std::uint32_t clusters = 0;
  for (const FreedList::Entry& entry : list.entries_of(0)) clusters += entry.count;
  EXPECT_EQ(clusters, 6u);
  const auto taken = list.take_committed(1);
  ASSERT_EQ(taken.size(), 3u);
  EXPECT_EQ(taken[0].start, 10u);
  EXPECT_EQ(taken[2].start, 20u);
  EXPECT_EQ(list.take_committed(2).size(), 1u);
  EXPECT_TRUE(list.empty());
}

// Adds a random extent, removes entries from their trees, or takes some.
void change(FreedList& list, Rng& rng, std::uint64_t event) {
  const auto transaction = 1 + event / 200;
  if (const std::uint64_t kind = rng.below(20); kind == 0)
    list.unlink(transaction - 1, event - rng.below(200));
  else if (kind == 1)
    (void)list.take_committed(transaction - 1, event - rng.below(200));
  else
    (void)list.add(static_cast<std::uint32_t>(rng.below(3)),
                   static_cast<std::uint32_t>(rng.below(400)),
                   static_cast<std::uint32_t>(rng.between(1, 4)), transaction, event);
}

// If a group's entries are taken out and put back, the list behaves as before.
TEST(FreedList, PutsTheEntriesOfAGroupBack) {
  FreedList whole(FreedMerging::parent), parted(FreedMerging::parent);
  Rng one(1), other(1), which(2);
  for (std::uint64_t event = 200; event < 4000; ++event) {
    change(whole, one, event);
    change(parted, other, event);
    const auto group = static_cast<std::uint32_t>(which.below(4));
    const FreedList::Group entries = parted.group(group);
    if (which.below(2) == 0) {
      parted.set_group(group, {{}, 0, {{}}});
      EXPECT_FALSE(parted.has(group));
    }
    parted.set_group(group, entries);
    ASSERT_EQ(parted.group(group), whole.group(group));
    ASSERT_TRUE(std::ranges::equal(parted.entries(), whole.entries())) << "event " << event;
    if (event % 50 == 0) expect_groups_in_order(parted, 3);
  }
}

TEST(FreedList, ACopyMergesAsTheOriginalDoes) {
  FreedList list(FreedMerging::parent), copy(FreedMerging::parent);
  EXPECT_TRUE(copy.add(1, 60, 5, 9));  // gone after the copy
  Rng rng(11);
  std::uint64_t event = 0;
  const auto add = [&](FreedList& to, std::uint32_t group, std::uint32_t start) {
    return to.add(group, start, 2, event < 300 ? 1 : 2, event);
  };
  for (; event < 400; ++event) {
    (void)add(list, static_cast<std::uint32_t>(rng.below(2)),
              2 * static_cast<std::uint32_t>(rng.below(1000)));
    if (event == 350) list.unlink(1, 150);
  }
  copy.copy_from(list);
  for (; event < 800; ++event) {
    const auto group = static_cast<std::uint32_t>(rng.below(2));
    const std::uint32_t start = 2 * static_cast<std::uint32_t>(rng.below(1000));
    EXPECT_EQ(add(copy, group, start), add(list, group, start));
  }
  for (const std::uint32_t group : {0, 1}) EXPECT_EQ(copy.group(group), list.group(group));
  EXPECT_TRUE(std::ranges::equal(copy.entries(), list.entries(), {}, &FreedList::Entry::start,
                                 &FreedList::Entry::start));
  expect_groups_in_order(copy, 2);
  EXPECT_EQ(copy.take_committed(1), list.take_committed(1));
  EXPECT_EQ(copy.take_committed(2), list.take_committed(2));
  EXPECT_TRUE(copy.empty());
}

TEST(FreedList, TakesWhatOverlaps) {
  FreedList list(FreedMerging::parent);
  EXPECT_TRUE(list.add(0, 10, 5, 1, 1));
  EXPECT_TRUE(list.add(0, 20, 5, 1, 2));
  EXPECT_TRUE(list.add(0, 30, 5, 2, 3));
  list.unlink(1, 1);
  const auto taken = list.take_overlapping(0, 14, 20, 1);
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].start + taken[1].start, 30u);
  EXPECT_TRUE(list.take_overlapping(0, 0, 30, 2).empty());
  EXPECT_TRUE(list.take_overlapping(1, 0, 100, 2).empty());
  ASSERT_EQ(list.entries().size(), 1u);
  EXPECT_EQ(list.take_overlapping(0, 34, 1, 2).size(), 1u);
  EXPECT_FALSE(list.has(0));
}

}  // namespace
}  // namespace e4r::state
