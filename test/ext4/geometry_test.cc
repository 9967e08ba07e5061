// SPDX-License-Identifier: GPL-2.0-or-later
#include "ext4/geometry.h"

#include <gtest/gtest.h>

namespace e4r {
namespace {

// Three groups of 8,192 blocks of 1 KiB after the boot block; the last group has 100 blocks.
Geometry small_blocks() {
  Geometry out;
  out.block_bits = 10;
  out.first_data_block = 1;
  out.blocks_per_group = out.clusters_per_group = 8192;
  out.groups = 3;
  out.blocks_count = 1 + 2 * 8192 + 100;
  return out;
}

// Two groups of 8,192 clusters of 16 blocks; the last group has 33 blocks in 3 clusters.
Geometry clusters_of_16() {
  Geometry out;
  out.cluster_bits = 4;
  out.clusters_per_group = 8192;
  out.blocks_per_group = 8192 << 4;
  out.groups = 2;
  out.blocks_count = (8192 << 4) + 33;
  return out;
}

TEST(Geometry, CountsFromTheFirstDataBlock) {
  const Geometry g = small_blocks();
  EXPECT_EQ(g.block_size(), 1024u);
  EXPECT_EQ(g.orders(), 12u);
  EXPECT_FALSE(g.holds_block(0));
  EXPECT_TRUE(g.holds_block(1));
  EXPECT_FALSE(g.holds_block(g.blocks_count));
  EXPECT_EQ(g.first_block(2), 16385u);
  EXPECT_EQ(g.group_of(16384), 1u);
  EXPECT_EQ(g.group_of(16385), 2u);
  EXPECT_EQ(g.cluster_in_group(16384), 8191u);
  EXPECT_EQ(g.block_of(1, 8191), 16384u);
}

TEST(Geometry, TheLastGroupIsShort) {
  const Geometry g = small_blocks();
  EXPECT_EQ(g.blocks_in(1), 8192u);
  EXPECT_EQ(g.blocks_in(2), 100u);
  EXPECT_EQ(g.clusters_in(2), 100u);
  EXPECT_TRUE(g.holds(2, 99, 1));
  EXPECT_FALSE(g.holds(2, 99, 2));
  EXPECT_FALSE(g.holds(2, -1, 1)) << "a start that is none";
  EXPECT_FALSE(g.holds(3, 0, 1));
  EXPECT_FALSE(g.holds(0, 0, 0)) << "no cluster at all";
  EXPECT_FALSE(g.holds(0, 1, ~0ull)) << "start and length together do not fit 64 bits";
}

TEST(Geometry, ClustersHoldSeveralBlocks) {
  const Geometry g = clusters_of_16();
  EXPECT_EQ(g.clusters_in(1), 3u) << "the last one is not whole";
  EXPECT_EQ(g.words_per_group(), 128u);
  EXPECT_EQ(g.to_clusters(17), 2u);
  EXPECT_EQ(g.to_blocks(3), 48u);
  EXPECT_EQ(g.cluster_in_group(g.first_block(1) + 31), 1u);
  EXPECT_EQ(g.block_of(1, 2), g.first_block(1) + 32);
  EXPECT_EQ(logical_end(g, {0, 0, 0x10000000, 0xfffffff0}), 0xfffffff0ull + 0x100000000ull)
      << "more than 32 bits";
}

TEST(Geometry, HighestBits) {
  EXPECT_EQ(fls(0), 0);
  EXPECT_EQ(fls(1), 1);
  EXPECT_EQ(fls(0x80000000), 32);
}

}  // namespace
}  // namespace e4r
