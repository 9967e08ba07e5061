// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/free_extents.h"

#include <gtest/gtest.h>

#include <vector>

namespace e4r::stats {
namespace {

// Uses blocks of 4 KiB and clusters of 16 KiB.
constexpr Geometry kGeometry = {.blocks_count = 40960,
                                .blocks_per_group = 4096,
                                .clusters_per_group = 1024,
                                .groups = 10,
                                .cluster_bits = 2};

TEST(FitrimCount, MinlenIsOfBlocksAndThenOfWholeClusters) {
  const auto minlen = [](std::uint64_t bytes, std::uint64_t granularity) {
    const auto out = fitrim_minlen(kGeometry, bytes, granularity);
    return out.ok() ? *out : ~0ull;
  };
  EXPECT_EQ(minlen(0, 0), 0u);
  EXPECT_EQ(minlen(0, 512), 0u);
  EXPECT_EQ(minlen(4095, 0), 0u) << "less than a block";
  EXPECT_EQ(minlen(4096, 0), 1u);
  EXPECT_EQ(minlen(16384 + 4095, 0), 1u);
  EXPECT_EQ(minlen(16384 + 4096, 0), 2u);
  EXPECT_EQ(minlen(4096, 1 << 20), 64u) << "the device drops no less";
  EXPECT_EQ(minlen(2 << 20, 1 << 20), 128u);
  EXPECT_EQ(minlen(0, 1u << 30), 65536u) << "no run of any group is as long";
  EXPECT_EQ(minlen(1024ull * 16384, 0), 1024u);
  EXPECT_FALSE(fitrim_minlen(kGeometry, 1025ull * 16384, 0).ok());
}

TEST(FitrimCount, CountsRunsThatAreLongEnough) {
  // The group has 96 clusters. Clusters 0 to 3, 10, and all from 80 on are in use.
  const std::vector<std::uint64_t> words = {0b10000001111, 0xffff0000};
  const auto count = [&](std::uint64_t minlen) {
    FitrimCount out;
    out.minlen = minlen;
    out.add(words, 96);
    return std::pair(out.discards, out.clusters);
  };
  EXPECT_EQ(count(0), std::pair(std::uint64_t{2}, std::uint64_t{75}));
  EXPECT_EQ(count(6), count(0));
  EXPECT_EQ(count(7), std::pair(std::uint64_t{1}, std::uint64_t{69}));
  EXPECT_EQ(count(70), std::pair(std::uint64_t{0}, std::uint64_t{0}));
  FitrimCount none;
  none.add(std::vector<std::uint64_t>{~0ull}, 64);
  EXPECT_EQ(none.discards, 0u);
}

}  // namespace
}  // namespace e4r::stats
