// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocator/discards.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "allocator/model.h"
#include "allocator/policy.h"
#include "allocator/tunables.h"

namespace e4r::allocator {
namespace {

using Sent = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

// Two groups of 1024 clusters, mounted with discard. Only the first four clusters are in use.
struct DiscardingFs {
  explicit DiscardingFs(bool journal = true, std::uint32_t cluster_bits = 0) {
    state::MountedGeometry& g = source.geometry;
    g.groups = 2;
    g.block_bits = 12;
    g.cluster_bits = cluster_bits;
    g.clusters_per_group = 1024;
    g.blocks_per_group = 1024u << cluster_bits;
    g.blocks_count = std::uint64_t{g.groups} * g.blocks_per_group;
    g.journal = journal;
    g.discard = true;
    words.resize(g.groups, std::vector<std::uint64_t>(1024 / 64, 0));
    for (auto& w : words) {
      state::bitmap::set_range(w, 0, 4);
      source.groups.push_back({w, 1020, 1020, false, false});
    }
  }
  std::vector<std::vector<std::uint64_t>> words;
  state::Source source;
};

struct Mounted : DiscardingFs {
  explicit Mounted(const char* policy = "legacy", bool journal = true, std::uint32_t bits = 0)
      : DiscardingFs(journal, bits),
        model(source, *find_policy(policy), defaults_for(source.geometry)) {
    for (std::uint32_t g = 0; g < 2; ++g) model.own_state().load(g);
  }
  void take(std::uint32_t group, std::uint32_t start, std::uint32_t clusters) {
    (void)model.own_state().take(model.own_state().group(group), start, clusters);
  }
  void free(std::uint32_t group, std::uint32_t start, std::uint32_t clusters) {
    ASSERT_TRUE(model.free(group, start, clusters, true));
  }
  void commit() {
    model.begin_commit();
    model.end_commit();
  }
  Sent sent() {
    Sent out;
    for (const BlockRange& range : model.discards()->sent())
      out.emplace_back(range.first, range.count);
    return out;
  }
  Model model;
};

TEST(Discards, NeighboursOfOneTransactionAreOne) {
  Mounted fs;
  fs.take(1, 100, 40);
  fs.free(1, 110, 5);
  fs.free(1, 120, 5);
  fs.free(1, 115, 5);
  fs.model.send_discards(Discards::kAll);
  EXPECT_EQ(fs.sent(), Sent());  // not committed yet
  fs.commit();
  EXPECT_EQ(fs.sent(), Sent());  // the worker has not run yet
  fs.model.send_discards(Discards::kAll);
  EXPECT_EQ(fs.sent(), (Sent{{1024 + 110, 15}}));
  EXPECT_EQ(fs.model.discards()->counts(), (DiscardCounts{1, 15}));
}

TEST(Discards, ReachToTheRightAndNotToTheLeft) {
  Mounted fs;
  fs.take(0, 50, 10);
  fs.take(0, 70, 10);
  fs.free(0, 55, 5);  // 60 to 69 were free from the start
  fs.commit();
  fs.free(0, 50, 5);  // the blocks after these five are free now
  fs.commit();
  fs.model.send_discards(Discards::kAll);
  EXPECT_EQ(fs.sent(), (Sent{{50 + 5, 15}, {50 + 0, 20}})) << "in the order of the commits";
}

TEST(Discards, LeaveOutWhatIsInUseAgain) {
  Mounted fs;
  fs.take(0, 100, 100);
  fs.free(0, 110, 30);
  fs.commit();
  fs.take(0, 115, 5);
  fs.take(0, 139, 1);
  fs.model.send_discards(1);
  EXPECT_EQ(fs.sent(), (Sent{{110, 5}}));
  fs.model.send_discards(1);
  EXPECT_EQ(fs.sent(), (Sent{{110, 5}, {120, 19}}));
  fs.model.send_discards(Discards::kAll);
  EXPECT_EQ(fs.sent().size(), 2u);
}

TEST(Discards, AreOfBlocks) {
  Mounted fs("legacy", true, 4);
  fs.take(1, 100, 40);
  fs.free(1, 110, 2);
  fs.commit();
  fs.model.send_discards(Discards::kAll);
  EXPECT_EQ(fs.sent(), (Sent{{(1024 + 110) * 16, 32}}));
}

TEST(Discards, WithoutAJournalAreWhatIsFreed) {
  Mounted fs("legacy", false);
  fs.take(0, 100, 40);
  fs.free(0, 110, 5);
  fs.free(0, 105, 5);
  EXPECT_EQ(fs.sent(), (Sent{{110, 5}, {105, 5}}));
  fs.model.send_discards(Discards::kAll);
  EXPECT_EQ(fs.sent().size(), 2u);
}

// While a discard of a run is sent to the device, the run cannot be allocated.
TEST(Discards, TheLastRunStaysInUseUntilTheNextCall) {
  Mounted fs;
  fs.take(0, 100, 100);
  fs.free(0, 110, 10);
  fs.free(0, 130, 20);
  fs.commit();
  state::FsState& state = fs.model.own_state();
  const auto in_use = [&](std::uint32_t start, std::uint32_t clusters) {
    return state::bitmap::all_set(state.words(state.group(0)), start, clusters);
  };
  ASSERT_EQ(fs.model.send_discards(1), 1u);
  EXPECT_TRUE(in_use(110, 10));
  EXPECT_FALSE(in_use(130, 1));
  ASSERT_EQ(state.discarding().size(), 1u);
  std::vector<std::uint64_t> settled;
  state.settled_words(0, settled);
  EXPECT_TRUE(state::bitmap::all_clear(settled, 110, 10)) << "a sync would not keep it";
  ASSERT_EQ(fs.model.send_discards(1), 1u);
  EXPECT_FALSE(in_use(110, 1));
  EXPECT_TRUE(in_use(130, 20));
  ASSERT_EQ(fs.model.send_discards(0), 0u);
  EXPECT_FALSE(in_use(130, 1));
  EXPECT_TRUE(state.discarding().empty());
  EXPECT_TRUE(state.check(5).empty());
}

// An allocation in a discarded range shows that the range had become free again. A free in the
// range shows this, too, but only a wrong trace contains such a free.
TEST(Discards, WhatShowsThatARangeWasGivenBack) {
  Mounted fs;
  fs.take(0, 100, 100);
  const auto send = [&] {
    fs.free(0, 110, 10);
    fs.commit();
    ASSERT_EQ(fs.model.send_discards(1), 1u);
    ASSERT_EQ(fs.model.state().discarding().size(), 1u);
  };
  send();
  std::vector<std::uint64_t> held;
  EXPECT_EQ(fs.model.own_state().force_take(0, 105, 10, held), 5u) << "105 to 109 were in use";
  EXPECT_TRUE(fs.model.state().discarding().empty());
  EXPECT_EQ(fs.model.state().group(0).free, 1020u - 95u);
  ASSERT_TRUE(fs.model.own_state().give(fs.model.own_state().group(0), 110, 5));
  fs.take(0, 110, 10);
  send();
  EXPECT_FALSE(fs.model.free(0, 110, 5, true)) << "it is free already";
  EXPECT_TRUE(fs.model.state().discarding().empty());
  EXPECT_TRUE(fs.model.state().check(5).empty());
}

// While the only free run of a group is being discarded, the group is full and on no list.
// Afterwards it returns to the end of its list.
TEST(Discards, MoveTheGroupToTheEndOfItsLists) {
  DiscardingFs fs;
  Tunables tunables = defaults_for(fs.source.geometry);
  tunables.mb_optimize_scan = 1;
  Model model(fs.source, *find_policy("legacy"), tunables);
  state::FsState& state = model.own_state();
  for (std::uint32_t g = 0; g < 2; ++g) state.load(g);
  const auto order = [&] {
    std::vector<std::uint32_t> out;
    for (const state::Group& group : state.largest(9)) out.push_back(group.number);
    return out;
  };
  ASSERT_EQ(order(), (std::vector<std::uint32_t>{0, 1}));
  model.touch(0, 4, 1020);
  EXPECT_EQ(order(), (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(state.group(0).free, 1020u);
  EXPECT_TRUE(state.check(5).empty());
}

// A file system for FITRIM, mounted without discard. In group 0, these clusters are free: 4 to 9,
// 20 to 29, and all from 1000 on.
struct Trimmed : Mounted {
  explicit Trimmed(const char* policy = "legacy", bool journal = true, std::uint32_t bits = 0)
      : Mounted(policy, journal, bits) {
    take(0, 10, 10);
    take(0, 30, 970);
  }
  // Returns how many runs FITRIM sent to the device.
  std::uint64_t trim(std::uint32_t group, std::uint32_t minlen, bool even_trimmed = false) {
    return trim(group, 0, 1024, minlen, even_trimmed);
  }
  std::uint64_t trim(std::uint32_t group, std::uint32_t start, std::uint32_t end,
                     std::uint32_t minlen, bool even_trimmed = false) {
    Trim trim;
    trim.group = group;
    trim.start = start;
    trim.end = end;
    trim.minlen = minlen;
    trim.even_trimmed = even_trimmed;
    const std::uint64_t sent = model.trim(trim, Discards::kAll);
    EXPECT_TRUE(trim.done);
    EXPECT_TRUE(model.state().check(5).empty());
    return sent;
  }
  [[nodiscard]] bool trimmed(std::uint32_t group) const {
    return model.state().group(group).trimmed;
  }
};

TEST(Fitrim, SendsRunsThatAreLongEnough) {
  Trimmed fs;
  EXPECT_EQ(fs.trim(0, 0), 3u);
  EXPECT_EQ(fs.sent(), (Sent{{4, 6}, {20, 10}, {1000, 24}}));
  EXPECT_EQ(fs.trim(0, 10, true), 2u);
  EXPECT_EQ(fs.trim(0, 11, true), 1u);
  EXPECT_EQ(fs.trim(0, 25, true), 0u);
  EXPECT_EQ(fs.model.discards()->counts(), (DiscardCounts{6, 40 + 34 + 24}));
}

TEST(Fitrim, LeavesATrimmedGroupOutUntilSomethingIsFreedInIt) {
  Trimmed fs;
  EXPECT_EQ(fs.trim(0, 25), 0u);
  EXPECT_TRUE(fs.trimmed(0)) << "whatever the minlen";
  EXPECT_EQ(fs.trim(0, 1), 0u);
  EXPECT_FALSE(fs.trimmed(1));
  fs.free(0, 100, 50);
  EXPECT_EQ(fs.trim(0, 1), 0u) << "not given back yet";
  fs.commit();
  EXPECT_FALSE(fs.trimmed(0));
  EXPECT_EQ(fs.trim(0, 1), 4u);
  EXPECT_EQ(fs.trim(0, 1), 0u);
  EXPECT_EQ(fs.trim(0, 1, true), 4u) << "the FITRIM before had a larger minlen";
}

TEST(Fitrim, WithoutAJournalAFreeShowsAtOnce) {
  Trimmed fs("linux-7.3", false);
  EXPECT_EQ(fs.trim(0, 1), 3u);
  fs.free(0, 100, 50);
  EXPECT_EQ(fs.trim(0, 1), 4u);
}

// Clusters of a preallocation count as in use. Releasing them does not clear the trimmed mark.
TEST(Fitrim, APreallocationThatIsGivenBackDoesNotShow) {
  Trimmed fs;
  EXPECT_EQ(fs.trim(0, 1), 3u);
  state::FsState& state = fs.model.own_state();
  ASSERT_TRUE(state.give(state.group(0), 100, 50));
  EXPECT_EQ(fs.trim(0, 1), 0u);
}

TEST(Fitrim, APartOfAGroupDoesNotMakeItTrimmed) {
  Trimmed fs;
  EXPECT_EQ(fs.trim(0, 5, 1024, 1), 3u);
  EXPECT_FALSE(fs.trimmed(0));
  EXPECT_EQ(fs.trim(0, 0, 25, 1), 2u);
  EXPECT_EQ(fs.sent(), (Sent{{5, 5}, {20, 10}, {1000, 24}, {4, 6}, {20, 10}}))
      << "a run is sent from the range on, and up to its end beyond it";
  EXPECT_FALSE(fs.trimmed(0));
  EXPECT_EQ(fs.trim(0, 0, 1001, 1), 3u);
  EXPECT_TRUE(fs.trimmed(0)) << "its last run reaches the end";
}

TEST(Fitrim, IsOfBlocks) {
  Trimmed fs("legacy", true, 4);
  EXPECT_EQ(fs.trim(0, 7), 2u);
  EXPECT_EQ(fs.sent(), (Sent{{320, 160}, {16000, 384}}));
}

TEST(Fitrim, GoesOnWithWhatIsFreeByThen) {
  Trimmed fs;
  Trim trim;
  trim.end = 1024;
  EXPECT_EQ(fs.model.trim(trim, 0), 0u);
  EXPECT_EQ(fs.model.trim(trim, 1), 1u);
  fs.take(0, 20, 4);
  EXPECT_EQ(fs.model.trim(trim, 1), 1u);
  EXPECT_FALSE(trim.done);
  EXPECT_FALSE(fs.trimmed(0));
  EXPECT_EQ(fs.model.trim(trim, 1), 1u);
  EXPECT_EQ(fs.sent(), (Sent{{4, 6}, {24, 6}, {1000, 24}}));
  EXPECT_FALSE(trim.done) << "the last run is in use";
  EXPECT_EQ(fs.model.trim(trim, 0), 0u);
  EXPECT_TRUE(trim.done) << "nothing is left to look at";
  EXPECT_TRUE(fs.trimmed(0));
}

// The worker also marks a group as trimmed if all of its clusters are freed at once.
TEST(Fitrim, TheWorkerMakesAGroupTrimmed) {
  Trimmed fs;
  fs.take(1, 4, 1020);
  fs.free(1, 0, 1024);
  fs.commit();
  fs.model.send_discards(Discards::kAll);
  EXPECT_EQ(fs.sent(), (Sent{{1024, 1024}}));
  EXPECT_TRUE(fs.trimmed(1));
  EXPECT_FALSE(fs.trimmed(0));
  EXPECT_EQ(fs.trim(1, 1), 0u);
}

TEST(Discards, NoneOfAMountThatSendsNone) {
  DiscardingFs fs;
  fs.source.geometry.discard = false;
  Model model(fs.source, *find_policy("legacy"), defaults_for(fs.source.geometry));
  EXPECT_EQ(model.discards(), nullptr);
  Trim trim;
  trim.end = 1024;
  EXPECT_EQ(model.trim(trim, Discards::kAll), 1u) << "the group is loaded by that";
  ASSERT_NE(model.discards(), nullptr);
  EXPECT_EQ(model.discards()->counts(), (DiscardCounts{1, 1020}));
}

}  // namespace
}  // namespace e4r::allocator
