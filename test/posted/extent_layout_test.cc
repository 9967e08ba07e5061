// SPDX-License-Identifier: GPL-2.0-or-later
#include "posted/layouts.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "util/rng.h"

namespace e4r::posted {
namespace {

Geometry geometry() {
  Geometry out;
  out.groups = 4;
  out.blocks_per_group = out.clusters_per_group = 32768;
  out.blocks_count = 4ull * 32768;
  return out;
}

ExtentText text() {
  ExtentText out;
  out.block_size = 4096;
  out.blocks = 4ull * 32768;
  out.min_kib = 4;
  out.max_kib = 4000;
  out.buckets = {{1, 1, 20, 20}, {8, 15, 30, 300}, {512, 1023, 10, 7000}};
  out.free = 7320;
  out.count = 60;
  return out;
}

const std::vector<ClusterRun> kUsable = {{1000, 30000}, {40000, 5000}, {50000, 80000}};

TEST(ExtentLayout, HasTheExtentsOfTheText) {
  Rng rng(58);
  const auto made = lay_out_extents(text(), geometry(), kUsable, rng);
  ASSERT_TRUE(made.ok()) << made.error().message;
  std::vector<std::uint64_t> counts(3), blocks(3);
  std::uint64_t end = 0, longest = 0;
  for (const ClusterRun& run : made->free) {
    EXPECT_GT(run.first, end) << "a used cluster between each two";
    end = run.end();
    longest = std::max(longest, run.length);
    bool inside = false;
    for (const ClusterRun& part : kUsable)
      inside = inside || (run.first >= part.first && run.end() <= part.end());
    EXPECT_TRUE(inside) << run.first;
    const std::size_t bucket = run.length == 1 ? 0 : run.length < 16 ? 1 : 2;
    ++counts[bucket];
    blocks[bucket] += run.length;
  }
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{20, 30, 10}));
  EXPECT_EQ(blocks, (std::vector<std::uint64_t>{20, 300, 7000}));
  EXPECT_EQ(longest, 1000u);
}

TEST(ExtentLayout, HasAsManyFreeChunks) {
  for (const std::uint64_t wanted : {18u, 19u, 21u}) {
    Rng rng(wanted);
    ExtentText some = text();
    some.chunk_bytes = 1 << 20;
    some.free_chunks = wanted;
    const auto made = lay_out_extents(some, geometry(), kUsable, rng);
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_EQ(made->free_chunks, wanted);
    std::uint64_t count = 0;
    for (const ClusterRun& run : made->free)
      for (std::uint64_t at = (run.first + 255) / 256 * 256; at + 256 <= run.end(); at += 256)
        ++count;
    EXPECT_EQ(count, wanted);
  }
}

TEST(ExtentLayout, RefusesWhatCannotBe) {
  Rng rng(1);
  ExtentText none = text();
  none.max_kib = 100;
  EXPECT_FALSE(lay_out_extents(none, geometry(), kUsable, rng).ok()) << "nothing is so long";
  const auto full = lay_out_extents(text(), geometry(), {{0, 900}}, rng);
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().message.substr(0, 44), "there is no room for 60 free extents of up t");
}

}  // namespace
}  // namespace e4r::posted
