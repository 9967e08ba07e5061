// SPDX-License-Identifier: GPL-2.0-or-later
#include "state/fs_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "state/pretence.h"
#include "util/rng.h"

namespace e4r::state {
namespace {

// A file system with 4 KiB blocks. Its groups are empty except for a few clusters of metadata each.
struct Fixture {
  explicit Fixture(std::uint32_t groups, std::uint32_t clusters = 1024) {
    source.geometry.groups = groups;
    source.geometry.block_bits = 12;
    source.geometry.blocks_per_group = source.geometry.clusters_per_group = clusters;
    source.geometry.blocks_count = static_cast<std::uint64_t>(groups) * clusters;
    source.geometry.journal = true;
    words.resize(groups, std::vector<std::uint64_t>(clusters / 64, 0));
    for (auto& w : words) {
      bitmap::set_range(w, 0, 4);
      source.groups.push_back({w, clusters - 4, clusters - 4, false, false});
    }
  }
  std::vector<std::vector<std::uint64_t>> words;
  Source source;
};

void expect_sound(const FsState& state) {
  for (const std::string& line : state.check(5)) ADD_FAILURE() << line;
}

TEST(FsState, RandomTakesGivesAndCommitsKeepEveryInvariant) {
  const Fixture fixture(6);
  FsState state(fixture.source, state::GroupIndex::lists);
  Rng rng(42);
  std::uint64_t transaction = 0;
  for (int step = 0; step < 4000; ++step) {
    Group& group = state.group(static_cast<std::uint32_t>(rng.below(6)));
    state.load(group.number);
    const auto at = static_cast<std::uint32_t>(rng.between(4, 1023));
    const auto words = state.words(group);
    if (!bitmap::test(words, at)) {
      const Extent e = state.find_extent(group, at, static_cast<std::uint32_t>(rng.between(1, 64)));
      ASSERT_GT(e.len, 0u);
      state.take(group, e.start, std::min(e.len, 64u));
    } else {
      const std::uint32_t end = bitmap::find_clear(words, 1024, at);
      const auto len = static_cast<std::uint32_t>(rng.between(1, std::min(end - at, 32u)));
      (void)state.free_clusters(group.number, at, len, transaction, rng.chance(1, 4));
    }
    if (rng.chance(1, 50)) state.commit(transaction++);
    if (step % 50 == 0) {
      // Ignore one violation that the test itself causes: it frees clusters that also wait for a
      // commit.
      std::vector<std::string> lines = state.check(5);
      std::erase_if(lines, [](const std::string& l) {
        return l.find("freed range") != std::string::npos ||
               l.find("given back") != std::string::npos;
      });
      ASSERT_TRUE(lines.empty()) << lines.front();
    }
  }
}

TEST(Pretence, EndsWithTheStateBefore) {
  for (const GroupIndex index : {GroupIndex::none, GroupIndex::lists, GroupIndex::sets}) {
    const Fixture fixture(6);
    FsState state(fixture.source, index);
    for (std::uint32_t group = 0; group < 5; ++group) state.load(group);
    state.take(state.group(1), 4, 100);
    const std::vector<std::uint64_t> words(state.words(state.group(1)).begin(),
                                           state.words(state.group(1)).end());
    const std::uint32_t first_free = state.group(1).first_free;
    {
      Pretence pretence(state);
      EXPECT_TRUE(pretence.change(1, 4, 50, true));
      EXPECT_TRUE(pretence.change(1, 200, 800, false));
      EXPECT_TRUE(pretence.change(1, 300, 10, true));
      EXPECT_EQ(state.group(1).free, 1020u - 100 + 50 - 800 + 10);
      EXPECT_FALSE(pretence.change(1, 4, 60, true));     // partly free
      EXPECT_FALSE(pretence.change(1, 190, 20, false));  // partly in use
      EXPECT_FALSE(pretence.change(1, 1000, 25, false));
      EXPECT_FALSE(pretence.change(1, 10, 0, false));
      EXPECT_FALSE(pretence.change(5, 10, 5, false));  // not loaded
      EXPECT_FALSE(pretence.change(6, 10, 5, false));
      expect_sound(state);
      pretence.undo_to(1);
      EXPECT_EQ(pretence.changes(), 1u);
      EXPECT_EQ(state.group(1).free, 1020u - 100 + 50);
      EXPECT_TRUE(pretence.change(1, 300, 10, false));
      expect_sound(state);
    }
    EXPECT_TRUE(std::ranges::equal(words, state.words(state.group(1))));
    EXPECT_EQ(state.group(1).first_free, first_free);
    expect_sound(state);
  }
}

// The inner pretence of the two is the one that walks see.
TEST(Pretence, IsSeenByWalksAlone) {
  const Fixture fixture(2);
  FsState state(fixture.source, GroupIndex::sets);
  state.load(0);
  const std::uint32_t free = state.group(0).free;
  Pretence outer(state);
  outer.limit_to_walks();
  state.begin_walk();
  ASSERT_TRUE(outer.change(0, 10, 30, false));
  state.end_walk();
  EXPECT_EQ(state.group(0).free, free);
  {
    Pretence inner(state);
    inner.limit_to_walks();
    ASSERT_TRUE(inner.change(0, 100, 5, false));
    state.end_walk();
    state.begin_walk();
    EXPECT_EQ(state.group(0).free, free - 5);
    EXPECT_EQ(inner.changes(), 1u);
  }
  EXPECT_EQ(state.group(0).free, free);
  state.begin_walk();
  EXPECT_EQ(state.group(0).free, free - 30);
  expect_sound(state);
  outer.end();
  state.end_walk();
  state.begin_walk();
  EXPECT_EQ(state.group(0).free, free);
}

TEST(Pretence, LeavesWhatWasTakenMeanwhile) {
  const Fixture fixture(2);
  FsState state(fixture.source, GroupIndex::sets);
  state.load(0);
  state.take(state.group(0), 4, 100);
  Pretence pretence(state);
  ASSERT_TRUE(pretence.change(0, 10, 30, true));
  state.take(state.group(0), 15, 5);
  pretence.end();
  EXPECT_TRUE(bitmap::find_clear(state.words(state.group(0)), 104, 4) >= 104);
  expect_sound(state);
}

// Returns the length that mb_find_extent would find, computed from the chunks alone.
std::uint32_t joined_chunks(FsState& state, Group& group, std::uint32_t at, std::uint32_t needed) {
  const bitmap::ConstWords words = state.words(group);
  std::uint32_t next = at;
  do {
    const std::uint32_t order = state.buddy(group).order_at(next);
    next = ((next >> order) + 1) << order;
  } while (needed > next - at && next < state.geometry().clusters_per_group &&
           !bitmap::test(words, next));
  return next - at;
}

TEST(FsState, FindsTheExtentThatChunksMake) {
  const Fixture fixture(1);
  FsState state(fixture.source, state::GroupIndex::lists);
  Group& group = state.group(0);
  state.load(0);
  Rng rng(5);
  for (int i = 0; i < 60; ++i) {
    const auto at = static_cast<std::uint32_t>(rng.between(4, 1023));
    const auto len = static_cast<std::uint32_t>(rng.between(1, std::min(1024 - at, 3u)));
    if (bitmap::all_clear(state.words(group), at, len)) state.take(group, at, len);
  }
  for (std::uint32_t at = 0; at < 1024; ++at) {
    const bool used = bitmap::test(state.words(group), at);
    for (const std::uint32_t needed : {1u, 2u, 3u, 5u, 8u, 13u, 16u, 31u, 64u, 100u, 1024u}) {
      const Extent found = state.find_extent(group, at, needed);
      ASSERT_EQ(found.len, used ? 0 : joined_chunks(state, group, at, needed))
          << needed << " clusters at " << at;
      ASSERT_EQ(found.start, used ? 0 : at);
    }
  }
}

// A search may get clusters that a transaction freed, while that transaction commits.
TEST(FsState, AKnownResultShowsThatWhatLayThereIsCommitted) {
  const Fixture fixture(2);
  FsState state(fixture.source, state::GroupIndex::lists);
  Group& group = state.group(0);
  state.load(0);
  state.take(group, 10, 60);
  ASSERT_TRUE(state.free_clusters(0, 10, 5, 7, false).ok());
  ASSERT_TRUE(state.free_clusters(0, 20, 5, 8, false).ok());
  ASSERT_TRUE(state.free_clusters(0, 30, 5, 8, false).ok());
  ASSERT_TRUE(state.free_clusters(0, 40, 5, 9, false).ok());
  const std::uint32_t free = group.free;
  std::vector<std::uint64_t> held;
  EXPECT_EQ(state.force_take(0, 22, 6, held), 3u);  // 25 to 27 are in use
  EXPECT_EQ(held, (std::vector<std::uint64_t>{0x38}));
  EXPECT_EQ(group.free, free + 5 + 5 + 5 - 3);
  EXPECT_EQ(state.freed().entries().size(), 1u);  // the entry of transaction 9
  state.commit(8);
  EXPECT_EQ(state.bad_frees(), 0u);
  EXPECT_EQ(group.free, free + 5 + 5 + 5 - 3);
  EXPECT_TRUE(state.check(5).empty());
}

TEST(FsState, FreedClustersWaitForTheirCommit) {
  const Fixture fixture(2);
  FsState state(fixture.source, state::GroupIndex::lists);
  Group& group = state.group(0);
  state.load(0);
  state.take(group, 10, 20);
  EXPECT_EQ(group.free, 1000u);
  ASSERT_TRUE(state.free_clusters(0, 10, 20, 7, false).ok());
  EXPECT_EQ(group.free, 1000u);
  EXPECT_FALSE(state.free_clusters(0, 10, 1, 7, false).ok());
  state.commit(6);
  EXPECT_EQ(group.free, 1000u);
  state.commit(7);
  EXPECT_EQ(group.free, 1020u);
  EXPECT_EQ(group.fragments, 1u);
  EXPECT_FALSE(state.free_clusters(0, 10, 1, 8, false).ok());
  EXPECT_FALSE(state.free_clusters(0, 1020, 5, 8, false).ok());
  EXPECT_FALSE(state.free_clusters(9, 0, 1, 8, false).ok());
  expect_sound(state);
}

TEST(FsState, SettledBitmapReleasesPreallocationsAndFreedClusters) {
  const Fixture fixture(2);
  FsState state(fixture.source, state::GroupIndex::lists);
  state.load(0);
  state.take(state.group(0), 10, 20);
  ASSERT_TRUE(state.free_clusters(0, 12, 3, 7, false).ok());
  Prealloc& pa = state.new_prealloc();
  pa.kind = Prealloc::Kind::group;
  pa.block = 25;
  pa.len = pa.free = 5;
  state.enlist(pa);
  std::vector<std::uint64_t> words;
  state.settled_words(0, words);
  std::vector<std::uint64_t> expected(1024 / 64, 0);
  bitmap::set_range(expected, 0, 4);
  bitmap::set_range(expected, 10, 2);
  bitmap::set_range(expected, 15, 10);
  EXPECT_EQ(words, expected);
  state.release(pa);
}

std::vector<std::uint32_t> numbers(const AverageList& list) {
  std::vector<std::uint32_t> out;
  for (const Group& group : list) out.push_back(group.number);
  return out;
}

TEST(FsState, ListsCanBePutInOrderUntilTheirGroupsMove) {
  const Fixture fixture(5);
  FsState state(fixture.source, GroupIndex::lists);
  for (std::uint32_t group = 0; group < 5; ++group) state.load(group);
  const auto order = static_cast<std::uint32_t>(state.group(0).average_order);
  state.arrange(OrderLists::average, {4, 0, 3, 1, 2});
  using Numbers = std::vector<std::uint32_t>;
  EXPECT_EQ(numbers(state.average(order)), (Numbers{1, 3, 4, 2, 0}));
  EXPECT_TRUE(state.is_behind(OrderLists::average, 2, 3));
  EXPECT_FALSE(state.is_behind(OrderLists::average, 3, 2));
  EXPECT_TRUE(state.put_before(OrderLists::average, 2, 3));
  EXPECT_FALSE(state.is_behind(OrderLists::average, 2, 3));
  EXPECT_EQ(numbers(state.average(order)), (Numbers{1, 2, 3, 4, 0}));
  EXPECT_FALSE(state.put_before(OrderLists::average, 1, 0));  // 1 is already before 0
  EXPECT_FALSE(state.put_before(OrderLists::average, 2, 2));
  EXPECT_FALSE(state.put_before(OrderLists::average, 99, 2));
  // The group leaves the list and returns to it, so its place is known from now on.
  state.take(state.group(3), 4, 1000);
  EXPECT_NE(static_cast<std::uint32_t>(state.group(3).average_order), order);
  EXPECT_TRUE(state.give(state.group(3), 4, 1000));
  EXPECT_EQ(numbers(state.average(order)), (Numbers{1, 2, 4, 0, 3}));
  EXPECT_FALSE(state.put_before(OrderLists::average, 3, 1));
  expect_sound(state);
}

// Returns the groups of each list, in order.
std::vector<std::vector<std::uint32_t>> lists_of(FsState& state) {
  std::vector<std::vector<std::uint32_t>> out;
  const auto add = [&out](const auto& list) {
    out.emplace_back();
    for (const Group& group : list) out.back().push_back(group.number);
  };
  for (std::uint32_t order = 0; order < state.geometry().orders(); ++order) {
    add(state.largest(order));
    add(state.average(order));
  }
  return out;
}

// If a caller undoes changes in reverse order, every list must have its old order again.
TEST(FsState, AGroupCanBePutBackWhereItStoodOnItsLists) {
  for (const GroupIndex index : {GroupIndex::lists, GroupIndex::lists_keep_full}) {
    const Fixture fixture(8, 256);
    FsState state(fixture.source, index);
    Rng rng(7);
    for (std::uint32_t number = 0; number < 8; ++number) state.load(number);
    for (int round = 0; round < 300; ++round) {
      const auto before = lists_of(state);
      struct Change {
        FsState::GroupPlace place;
        std::uint32_t start, len;
        bool taken;
      };
      std::vector<Change> changes;
      for (int i = 0; i < 6; ++i) {
        Group& group = state.group(static_cast<std::uint32_t>(rng.below(8)));
        const auto start = static_cast<std::uint32_t>(rng.between(4, 255));
        const bool is_free = !bitmap::test(state.words(group), start);
        const auto most = static_cast<std::uint32_t>(rng.chance(1, 3) ? 256 : 16);
        const std::uint32_t end =
            std::min({256u, start + most,
                      is_free ? bitmap::find_set(state.words(group), 256, start)
                              : bitmap::find_clear(state.words(group), 256, start)});
        changes.push_back({state.place_of(group.number), start, end - start, is_free});
        if (is_free)
          state.take(group, start, end - start);
        else
          ASSERT_TRUE(state.give(group, start, end - start));
      }
      const bool keeps = rng.chance(1, 2);
      for (auto change = changes.rbegin(); !keeps && change != changes.rend(); ++change) {
        Group& group = state.group(change->place.group);
        if (change->taken)
          ASSERT_TRUE(state.give(group, change->start, change->len));
        else
          state.take(group, change->start, change->len);
        state.put_back(change->place);
      }
      expect_sound(state);
      if (keeps) continue;
      ASSERT_EQ(lists_of(state), before) << round;
    }
  }
}

// put_back() ignores a place on the list of another order, and a place after a group that has left
// the list.
TEST(FsState, AGroupIsNotPutBackOnAListOfAnotherOrder) {
  const Fixture fixture(3);
  FsState state(fixture.source, GroupIndex::lists);
  for (std::uint32_t number = 0; number < 3; ++number) state.load(number);
  const FsState::GroupPlace behind_1 = state.place_of(2);
  state.take(state.group(1), 4, 1020);
  state.put_back(behind_1);  // group 1 has left the list
  state.take(state.group(2), 4, 1000);
  const auto before = lists_of(state);
  state.put_back(behind_1);
  EXPECT_EQ(lists_of(state), before);
  expect_sound(state);
}

TEST(FsState, GroupsMoveToTheEndOfTheListOfTheirNewOrder) {
  const Fixture fixture(3);
  FsState state(fixture.source, state::GroupIndex::lists);
  for (std::uint32_t g = 0; g < 3; ++g) state.load(g);
  const auto order = [&](std::uint32_t list) {
    std::vector<std::uint32_t> numbers;
    for (const Group& g : state.average(list)) numbers.push_back(g.number);
    return numbers;
  };
  const std::uint32_t list = average_list(state.geometry().orders(), 1020);
  EXPECT_EQ(order(list), (std::vector<std::uint32_t>{0, 1, 2}));
  state.take(state.group(0), 500, 100);  // now two free runs, so the average is half as long
  EXPECT_EQ(order(list), (std::vector<std::uint32_t>{1, 2}));
  ASSERT_TRUE(state.give(state.group(0), 500, 100));
  EXPECT_EQ(order(list), (std::vector<std::uint32_t>{1, 2, 0}));
  expect_sound(state);
}

// Whenever the kernel generates a buddy, it inserts the group into the tree again. It does not do
// this with lists.
TEST(FsState, AReloadMovesAGroupInATreeOnly) {
  const Fixture fixture(3);
  FsState tree(fixture.source, state::GroupIndex::tree), lists(fixture.source, GroupIndex::lists);
  for (FsState* state : {&tree, &lists})
    for (std::uint32_t number = 0; number < 3; ++number) state->load(number);
  const auto numbers = [](const auto& groups) {
    std::vector<std::uint32_t> out;
    for (const Group& group : groups) out.push_back(group.number);
    return out;
  };
  const auto before = numbers(tree.tree());
  tree.reload(before.front());
  EXPECT_EQ(numbers(tree.tree()),
            (std::vector<std::uint32_t>{before[1], before[2], before.front()}));
  const std::uint32_t order = average_list(lists.geometry().orders(), 1020);
  const auto listed = numbers(lists.average(order));
  ASSERT_EQ(listed.size(), 3u);
  lists.reload(listed.front());
  EXPECT_EQ(numbers(lists.average(order)), listed);
  expect_sound(tree);
  expect_sound(lists);
}

TEST(FsState, OneKilobyteBlocksLoadInPairs) {
  Fixture fixture(5);
  fixture.source.geometry.block_bits = 10;
  FsState state(fixture.source, state::GroupIndex::lists);
  EXPECT_EQ(state.load(3), 2u);
  EXPECT_FALSE(state.group(2).need_init);
  EXPECT_TRUE(state.group(1).need_init);
  EXPECT_EQ(state.load(4), 1u);
}

TEST(FsState, DescriptorThatContradictsTheBitmapShutsTheGroup) {
  Fixture fixture(2);
  fixture.source.groups[1].init_free = 7;
  FsState state(fixture.source, state::GroupIndex::lists);
  state.load(1);
  EXPECT_TRUE(state.group(1).corrupt);
}

TEST(AverageList, FollowsTheKernelsBuckets) {
  EXPECT_EQ(average_list(14, 1), 0u);
  EXPECT_EQ(average_list(14, 3), 0u);
  EXPECT_EQ(average_list(14, 4), 1u);
  EXPECT_EQ(average_list(14, 512), 8u);
  EXPECT_EQ(average_list(14, 32768), 13u);
}

}  // namespace
}  // namespace e4r::state
