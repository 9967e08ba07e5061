// SPDX-License-Identifier: GPL-2.0-or-later
// Compares the counts of free chunks with counts made cluster by cluster.
#include "stats/free_extents.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "image/image.h"
#include "replay/load.h"
#include "stats/layout.h"
#include "stats/shapes.h"
#include "support/ext2_images.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "util/rng.h"

namespace e4r::stats {
namespace {

// free[i] is true if block first_data_block + i is free.
FreeChunks one_by_one(const std::vector<bool>& free, std::uint32_t block_bits) {
  FreeChunks out;
  for (std::size_t i = 0; i < FreeChunks::kSizeBits.size(); ++i) {
    const std::size_t size = std::size_t{1} << (FreeChunks::kSizeBits[i] - block_bits);
    for (std::size_t at = 0; at + size <= free.size(); at += size) {
      bool all = true;
      for (std::size_t k = 0; k < size && all; ++k) all = free[at + k];
      out.count[i] += all ? 1 : 0;
    }
  }
  return out;
}

class FreeChunksOf : public testing::TestWithParam<SpaceShape> {};

INSTANTIATE_TEST_SUITE_P(
    Shapes, FreeChunksOf,
    testing::Values(SpaceShape{12, 0, 32768, 6, 0}, SpaceShape{12, 0, 32768, 3, 5000},
                    SpaceShape{10, 0, 8192, 40, 17}, SpaceShape{12, 4, 32768, 2, 9},
                    SpaceShape{12, 10, 512, 2, 1000}, SpaceShape{16, 0, 1016, 5, 0}));

TEST_P(FreeChunksOf, RandomBitmapsAgreeWithOneByOne) {
  const state::MountedGeometry g = geometry_of(GetParam());
  Rng rng(23);
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    std::vector<bool> free(g.blocks_count - g.first_data_block);
    FreeChunkScan scan(g);
    const std::uint64_t longest = 1ull << rng.between(6, 18);
    bool used = rng.chance(1, 2);
    std::uint64_t run = rng.between(1, longest);
    for (std::uint32_t group = 0; group < g.groups; ++group) {
      std::vector<std::uint64_t> words((g.clusters_per_group + 63) / 64, ~0ull);
      for (std::uint32_t cluster = 0; cluster < g.clusters_in(group); ++cluster) {
        if (run-- == 0) {
          used = !used;
          run = used ? rng.below(40) : rng.between(1, longest);
        }
        if (used) continue;
        state::bitmap::clear(words, cluster);
        const std::uint64_t first = g.block_of(group, cluster) - g.first_data_block;
        for (std::uint64_t b = first; b < first + g.to_blocks(1) && b < free.size(); ++b)
          free[b] = true;
      }
      scan.add(words, g.clusters_in(group));
    }
    EXPECT_EQ(scan.finish().chunks.count, one_by_one(free, g.block_bits).count);
  }
}

TEST(FreeChunks, AFreeDeviceIsAllChunks) {
  const state::MountedGeometry g = geometry_of({12, 0, 32768, 2, 0});
  const std::vector<std::uint64_t> words(512, 0);
  FreeChunkScan scan(g);
  scan.add(words, 32768);
  scan.add(words, 32768);
  EXPECT_EQ(scan.finish().chunks.count, (std::array<std::uint64_t, 3>{256, 16, 2}));
}

TEST(FreeChunks, GroupsAreCountedApart) {
  const state::MountedGeometry g = geometry_of({12, 0, 128, 3, 28});
  FreeChunkScan scan(g);
  scan.add(std::vector<std::uint64_t>{~0ull << 3, ~0ull}, 128);
  scan.add(std::vector<std::uint64_t>{0, ~0ull >> 1 & ~1ull}, 128);
  scan.add(std::vector<std::uint64_t>{~0ull, ~0ull << 4}, 100);
  const std::vector<GroupFree> want = {{3, 1}, {66, 2}, {4, 1}};
  EXPECT_EQ(scan.finish().groups, want);
}

// The first cluster of each group is in use, so no whole group is free.
TEST(FreeChunks, ChunksBeginAtMultiplesOfTheirSize) {
  const state::MountedGeometry g = geometry_of({12, 0, 32768, 2, 0});
  std::vector<std::uint64_t> words(512, 0);
  words[0] = 1;
  FreeChunkScan scan(g);
  scan.add(words, 32768);
  scan.add(words, 32768);
  EXPECT_EQ(scan.finish().chunks.count, (std::array<std::uint64_t, 3>{254, 14, 0}));
}

// With blocks of 4 KiB, freefrag and e2freefrag both count from block 0, so their counts must be
// equal.
TEST(FreeChunks, AreThoseOfE2freefrag) {
  const test::TempDir dir;
  const std::string path = dir.file("image");
  test::make_image(path, 3ull << 30, {"-t", "ext4", "-b", "4096"});
  test::fill_image(path, {.seed = 5, .max_free = 6000, .max_used = 9, .skip_percent = 40});
  const auto image = image::Image::open(path);
  ASSERT_TRUE(image.ok()) << image.error().message;
  const FreeChunks chunks =
      source_free(replay::source_from(*image), mebibyte_bits(12)).space.chunks;
  for (std::size_t i = 0; i < FreeChunks::kSizeBits.size(); ++i) {
    const std::uint64_t kb = 1ull << (FreeChunks::kSizeBits[i] - 10);
    const std::string out = test::run({"e2freefrag", "-c", std::to_string(kb), path}).out;
    const auto at = out.find("Free chunks: ");
    ASSERT_NE(at, std::string::npos) << out;
    EXPECT_EQ(chunks.count[i], std::stoull(out.substr(at + 13))) << kb;
    EXPECT_GT(chunks.count[i], 0u);
  }
}

}  // namespace
}  // namespace e4r::stats
