// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/hidden_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "replay/one_group.h"
#include "util/rng.h"

namespace e4r::test {
namespace {

namespace bitmap = state::bitmap;
using state::MbGroup;

TEST(HiddenRuns, AreFoundFromCountersAlone) {
  Rng rng(11);
  int found = 0;
  int tried = 0;
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    OneGroup g;
    // Files of random length, with free runs of random length between them.
    std::vector<ClusterRange> runs;
    for (std::uint32_t at = 0; at < 4096;) {
      const auto used = static_cast<std::uint32_t>(rng.between(1, 200));
      bitmap::set_range(g.words, at, std::min(used, 4096 - at));
      at += used;
      const auto free = static_cast<std::uint32_t>(rng.between(20, 300));
      if (at + free < 4096) runs.push_back({at, free});
      at += free;
    }
    std::vector<ClusterRange> hidden;
    for (std::uint64_t n = 0; n < 1 + rng.below(2); ++n) {
      auto& run = runs[rng.below(runs.size())];
      // A preallocation ends at a multiple of 64 here.
      const std::uint32_t len = (run.first / 64 + 1) * 64 - run.first;
      if (len > run.count || (!hidden.empty() && hidden.front().first == run.first)) continue;
      hidden.push_back({run.first, len});
    }
    const auto out = replay::find_hidden_runs(g.geometry, g.words, g.with(hidden));
    // Another place may give the same counters, so it may be the answer. But there must be an
    // answer.
    EXPECT_TRUE(out.explained) << "round " << round;
    EXPECT_EQ(out.not_found, 0u);
    if (hidden.empty()) continue;
    ++tried;
    const std::vector<ClusterRange>& answer = out.answers.at(0);
    const MbGroup again = g.with(answer);
    EXPECT_EQ(again.counters, g.with(hidden).counters);
    std::sort(hidden.begin(), hidden.end(), [](auto a, auto b) { return a.first < b.first; });
    found += answer == hidden ? 1 : 0;
  }
  EXPECT_GT(tried, kRounds / 2);
  EXPECT_GT(found, tried * 2 / 3);
}

// A file had its blocks just before the preallocation. It was deleted, so these clusters are free
// on disk and in memory.
TEST(HiddenRuns, AreFoundBehindAFileThatIsGone) {
  OneGroup g;
  bitmap::set_range(g.words, 0, 23);
  bitmap::set_range(g.words, 1024, 116);
  bitmap::set_range(g.words, 1500, 90);
  // Each hidden run ends at a file or at free clusters.
  const std::vector<std::vector<ClusterRange>> cases = {
      {{527, 1024 - 527}},
      {{2088, 2560 - 2088}},
      {{527, 1024 - 527}, {1140, 360}},
      {{1140, 360}, {2061, 2560 - 2061}},
      {{527, 1024 - 527}, {1601, 2048 - 1601}},
  };
  for (const auto& hidden : cases) {
    const auto out = replay::find_hidden_runs(g.geometry, g.words, g.with(hidden));
    EXPECT_TRUE(out.explained);
    EXPECT_EQ(out.answers.at(0), hidden) << hidden.front().first << " and " << hidden.size();
  }
}

// Two preallocations are in the same free run, and the counters fit several places.
TEST(HiddenRuns, LieWhereASearchFoundNotAllFree) {
  OneGroup g;
  bitmap::set_range(g.words, 0, 129);
  for (const std::vector<ClusterRange>& hidden :
       std::vector<std::vector<ClusterRange>>{{{1534, 2}, {2558, 2}},
                                              {{1400, 136}, {3583, 1}},
                                              {{129, 300}, {3571, 13}},
                                              {{500, 12}, {4010, 86}},
                                              {{129, 30}, {4010, 86}}}) {
    const MbGroup shown = g.with(hidden);
    const auto any = replay::find_hidden_runs(g.geometry, g.words, shown);
    EXPECT_TRUE(any.explained) << hidden[0].first;
    EXPECT_EQ(g.with(any.answers.at(0)).counters, shown.counters);
    replay::FreeEvidence evidence;
    evidence.known_free.resize(64);
    for (const ClusterRange& run : hidden) {
      if (run.first > 129) bitmap::set_range(evidence.known_free, run.first - 1, 1);
      evidence.not_all_free.push_back({run.first, 1});
      evidence.not_all_free.push_back({run.end() - 1, 1});
    }
    const auto out = replay::find_hidden_runs(g.geometry, g.words, shown, evidence);
    EXPECT_EQ(out.answers.at(0), hidden) << hidden[0].first;
  }
}

// There are more than two preallocations. They belong to CPUs and are in pieces of 512 clusters.
// Some of the files that preceded them were deleted.
TEST(HiddenRuns, MayBeMany) {
  Rng rng(5);
  for (int round = 0; round < 50; ++round) {
    OneGroup g;
    bitmap::set_range(g.words, 0, 40);
    std::vector<ClusterRange> hidden;
    replay::FreeEvidence evidence;
    evidence.known_free.resize(64);
    for (std::uint32_t end = 512; end < 4096; end += 512) {
      const auto len = static_cast<std::uint32_t>(rng.between(1, 400));
      if (rng.below(2) == 0) {
        // A search has found the whole piece free.
        bitmap::set_range(evidence.known_free, end - 1, 1);
        continue;
      }
      const ClusterRange run = {end - len, len};
      hidden.push_back(run);
      if (rng.below(3) == 0)
        bitmap::set_range(g.words, run.first - 20, 20);
      else
        bitmap::set_range(evidence.known_free, run.first - 1, 1);
      if (rng.below(4) != 0) evidence.not_all_free.push_back({run.first, 1});
    }
    if (hidden.empty()) continue;
    bitmap::set_range(evidence.known_free, 4095, 1);
    const auto out = replay::find_hidden_runs(g.geometry, g.words, g.with(hidden), evidence);
    ASSERT_TRUE(out.explained) << "round " << round << ", " << hidden.size() << " runs";
    for (const auto& answer : out.answers)
      EXPECT_EQ(g.with(answer).counters, g.with(hidden).counters) << "round " << round;
    EXPECT_NE(std::ranges::find(out.answers, hidden), out.answers.end()) << "round " << round;
  }
}

TEST(HiddenRuns, NoneHasClustersThatAreKnownToBeFree) {
  OneGroup g;
  bitmap::set_range(g.words, 0, 190);
  for (std::uint32_t at = 192; at < 2048; at += 128) bitmap::set_range(g.words, at, 126);
  const std::vector<ClusterRange> hidden = {{958, 2}};
  std::vector<std::uint64_t> known_free(64, 0);
  const MbGroup shown = g.with(hidden);
  // The counters permit fifteen places of two clusters. In all but one of them, one cluster is
  // known to be free.
  for (std::uint32_t at = 190; at < 2048; at += 128)
    if (at != 958) bitmap::set_range(known_free, at + 1, 1);
  const auto out = replay::find_hidden_runs(g.geometry, g.words, shown, {known_free, {}});
  EXPECT_EQ(out.answers.at(0), hidden);
  EXPECT_NE(replay::find_hidden_runs(g.geometry, g.words, shown).answers.at(0), hidden);
  bitmap::set_range(known_free, 958, 1);
  EXPECT_FALSE(replay::find_hidden_runs(g.geometry, g.words, shown, {known_free, {}}).explained);
}

TEST(HiddenRuns, NothingIsHiddenInAGroupThatIsAsShown) {
  OneGroup g;
  bitmap::set_range(g.words, 100, 1000);
  const auto out = replay::find_hidden_runs(g.geometry, g.words, g.with({}));
  EXPECT_TRUE(out.explained);
  EXPECT_TRUE(out.answers.empty());
}

TEST(HiddenRuns, CountersOfAnotherGroupAreNotExplained) {
  OneGroup g;
  bitmap::set_range(g.words, 100, 1000);
  MbGroup other = g.with({});
  other.free -= 7;
  other.fragments += 40;
  const auto out = replay::find_hidden_runs(g.geometry, g.words, other);
  EXPECT_FALSE(out.explained);
  EXPECT_EQ(out.not_found, 7u);
  other.free += 100;  // more than the image has
  EXPECT_EQ(replay::find_hidden_runs(g.geometry, g.words, other).not_found, 0u);
  other = g.with({});
  other.counters[3] = 0x80000000;  // as from a damaged file
  EXPECT_FALSE(replay::find_hidden_runs(g.geometry, g.words, other).explained);
}

}  // namespace
}  // namespace e4r::test
