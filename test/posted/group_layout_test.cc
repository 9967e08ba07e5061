// SPDX-License-Identifier: GPL-2.0-or-later
#include "posted/layouts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "state/buddy.h"
#include "state/fs_state.h"
#include "stats/mb_files.h"
#include "util/rng.h"

namespace e4r::posted {
namespace {

namespace bits = state::bitmap;
using Words = std::vector<std::uint64_t>;
using state::MbGroup;

constexpr std::uint32_t kClusters = 4096;
constexpr std::uint32_t kLargest = 13;  // largest order with blocks of 4 KiB

// Returns the line that the model of a kernel prints for a group with this bitmap.
MbGroup line_of_model(const Words& words) {
  MbGroup out;
  state::OrderCounters chunks = {};
  out.first_free = bits::find_clear(words, kClusters, 0);
  bits::for_each_clear_run(words, kClusters, [&](std::uint32_t from, std::uint32_t to) {
    out.free += to - from;
    ++out.fragments;
    state::count_chunks(chunks, kLargest + 1, from, to - from, 1);
  });
  std::copy_n(chunks.begin(), MbGroup::kOrders, out.counters.begin());
  return out;
}

// Draws a group as the allocator leaves it: metadata at the front, then files and holes.
Words random_group(Rng& rng, std::uint32_t metadata, std::uint32_t longest_file,
                   std::uint32_t longest_hole) {
  Words out(kClusters / 64);
  bits::set_range(out, 0, metadata);
  for (std::uint32_t at = metadata; at < kClusters;) {
    const auto file = std::min<std::uint32_t>(
        kClusters - at, static_cast<std::uint32_t>(rng.between(1, longest_file)));
    bits::set_range(out, at, file);
    at += file + static_cast<std::uint32_t>(rng.between(1, longest_hole));
  }
  return out;
}

TEST(GroupLayout, AModelPrintsTheLineAgain) {
  const std::uint64_t seed = 58;
  Rng rng(seed);
  int all = 0, groups = 0;
  for (const auto& [file, hole] :
       {std::pair{4u, 4u}, {100u, 5u}, {5u, 100u}, {60u, 300u}, {300u, 60u}, {1u, 40u}})
    for (int i = 0; i < 20; ++i) {
      const auto metadata = static_cast<std::uint32_t>(rng.below(600));
      const Words real = random_group(rng, metadata, file, hole);
      const MbGroup line = line_of_model(real);
      Words words(kClusters / 64);
      bits::set_range(words, 0, metadata);
      const GroupFit fit = lay_out_group(line, kLargest, kClusters, words, kRandomEnds, rng);
      ASSERT_NE(fit, GroupFit::none)
          << "seed " << seed << ", files of " << file << ", holes of " << hole << ", group " << i;
      ++groups;
      all += fit == GroupFit::all ? 1 : 0;
      state::Source source;
      source.geometry.groups = 1;
      source.geometry.blocks_per_group = source.geometry.clusters_per_group = kClusters;
      source.geometry.blocks_count = kClusters;
      source.groups.push_back({words, line.free, line.free, false, false});
      state::FsState state(source, state::GroupIndex::lists);
      state.load(0);
      MbGroup wanted = line;
      if (fit == GroupFit::counters) wanted.first_free = bits::find_clear(words, kClusters, 0);
      const auto compared = stats::compare_mb_groups({wanted}, state);
      EXPECT_TRUE(compared.equal()) << compared.first;
      EXPECT_TRUE(bits::all_set(words, 0, metadata)) << "metadata is in use";
      EXPECT_GE(bits::find_clear(words, kClusters, 0), line.first_free);
    }
  EXPECT_GE(all, groups * 3 / 4) << "most groups have the first free cluster of the line, too";
}

TEST(GroupLayout, TheSeedDecides) {
  Rng rng(1);
  const MbGroup line = line_of_model(random_group(rng, 100, 30, 30));
  const auto made = [&](std::uint64_t seed) {
    Rng own(seed);
    Words words(kClusters / 64);
    EXPECT_NE(lay_out_group(line, kLargest, kClusters, words, kRandomEnds, own), GroupFit::none);
    return words;
  };
  EXPECT_EQ(made(7), made(7));
  EXPECT_NE(made(7), made(8));
}

TEST(GroupLayout, EmptyAndUntouchedGroups) {
  Rng rng(1);
  Words words(kClusters / 64);
  bits::set_range(words, 0, 70);
  const Words fresh = words;
  EXPECT_EQ(lay_out_group(line_of_model(fresh), kLargest, kClusters, words, kRandomEnds, rng),
            GroupFit::all);
  EXPECT_EQ(words, fresh);
  EXPECT_EQ(lay_out_group(MbGroup(), kLargest, kClusters, words, kRandomEnds, rng), GroupFit::all);
  EXPECT_TRUE(bits::all_set(words, 0, kClusters));
}

TEST(GroupLayout, WhatHasNoRoomIsRefused) {
  Rng rng(1);
  Words words(kClusters / 64);
  const MbGroup line = line_of_model(words);
  bits::set_range(words, 0, 1);
  EXPECT_EQ(lay_out_group(line, kLargest, kClusters, words, kRandomEnds, rng), GroupFit::none);
}

TEST(GroupLayout, ContradictionsAreNamed) {
  Rng rng(1);
  const MbGroup good = line_of_model(random_group(rng, 100, 30, 30));
  EXPECT_EQ(contradiction_in(good, kLargest), "");
  MbGroup bad = good;
  ++bad.free;
  EXPECT_EQ(contradiction_in(bad, kLargest), "has chunks that do not add up to its free clusters");
  bad = good;
  bad.fragments = 4000;
  EXPECT_EQ(contradiction_in(bad, kLargest), "has more free extents than chunks");
  bad.fragments = 0;
  EXPECT_EQ(contradiction_in(bad, kLargest), "has free clusters without an extent");
  EXPECT_EQ(contradiction_in(line_of_model(Words(kClusters / 64)), 11),
            "has chunks that are too large");
}

}  // namespace
}  // namespace e4r::posted
