// SPDX-License-Identifier: GPL-2.0-or-later
// Compares `freefrag` with e2freefrag, byte for byte.
#include <gtest/gtest.h>

#include "report/free_space.h"
#include "support/ext2_images.h"
#include "support/process.h"
#include "support/shapes.h"
#include "support/temp_dir.h"

namespace e4r::report {
namespace {

std::string ours(const std::string& path, std::uint64_t chunk_kb, unsigned threads) {
  auto image = image::Image::open(path, {.threads = threads, .load_bitmaps = false});
  if (!image.ok()) return image.error().message;
  const auto bits = chunk_bits(chunk_kb, image->superblock().block_size());
  if (!bits.ok()) return bits.error().message;
  auto free = measure_free_space(*image, *bits, true);
  if (!free.ok()) return free.error().message;
  free->chunks_wanted = chunk_kb != 0;
  for (const std::string& warning : image->warnings()) ADD_FAILURE() << warning;
  return free_space_text(*free);
}

std::string theirs(const std::string& path, std::uint64_t chunk_kb) {
  const auto result = test::run({"e2freefrag", "-c", std::to_string(chunk_kb), path});
  return result.status == 0 ? result.out : result.err;
}

class Freefrag : public testing::TestWithParam<test::Shape> {
 protected:
  void SetUp() override { test::make_image(path_, GetParam().bytes, GetParam().options); }

  void expect_same() {
    for (const std::uint64_t chunk_kb : {0, 64, 1024, 65536})
      EXPECT_EQ(ours(path_, chunk_kb, 2), theirs(path_, chunk_kb)) << "-c " << chunk_kb;
  }

  test::TempDir dir_;
  std::string path_ = dir_.file("image");
};

INSTANTIATE_TEST_SUITE_P(Matrix, Freefrag, testing::ValuesIn(test::shapes()),
                         [](const auto& shape) { return std::string(shape.param.name); });

TEST_P(Freefrag, Empty) {
  expect_same();
}

TEST_P(Freefrag, Full) {
  test::fill_image(path_, {});
  expect_same();
}

TEST_P(Freefrag, SingleClusters) {
  test::fill_image(path_, {.seed = 3, .max_free = 1, .max_used = 1});
  expect_same();
}

TEST_P(Freefrag, ShortRuns) {
  test::fill_image(path_, {.seed = 4, .max_free = 40, .max_used = 90, .skip_percent = 20});
  expect_same();
}

TEST_P(Freefrag, LongRunsAcrossGroups) {
  test::fill_image(path_, {.seed = 5, .max_free = 20000, .max_used = 3000});
  expect_same();
}

TEST_P(Freefrag, SmallestChunk) {
  const std::uint64_t block_kb = [&] {
    const auto image = image::Image::open(path_);
    return image.ok() ? image->superblock().block_size() / 1024 : 0;
  }();
  test::fill_image(path_, {.seed = 6, .max_free = 9, .max_used = 300, .skip_percent = 50});
  EXPECT_EQ(ours(path_, block_kb, 1), theirs(path_, block_kb));
}

// The text is the same as e2freefrag's, even where e2freefrag is wrong. The numbers in the JSON
// document are correct.
TEST_P(Freefrag, FreeBlocksAddUp) {
  test::fill_image(path_, {.seed = 7, .max_free = 30, .max_used = 40});
  auto image = image::Image::open(path_, {.load_bitmaps = false});
  ASSERT_TRUE(image.ok()) << image.error().message;
  const auto free = measure_free_space(*image, 4, false);
  ASSERT_TRUE(free.ok()) << free.error().message;
  EXPECT_EQ(free->extents.blocks, free->superblock.free_blocks_count);
  EXPECT_EQ(free->text_is_wrong(), free->superblock.features.bigalloc);
}

// There are so many groups that the work is divided into several pieces, and extents cross the
// boundaries of the pieces.
TEST(FreefragPieces, ManySmallGroupsOnManyThreads) {
  const test::TempDir dir;
  const std::string path = dir.file("image");
  test::make_image(path, std::uint64_t{2} << 30,
                   {"-t", "ext4", "-b", "1024", "-g", "256", "-N", "65536"});
  EXPECT_EQ(ours(path, 1024, 4), theirs(path, 1024));
  test::fill_image(path, {.seed = 9, .max_free = 4000, .max_used = 40});
  const auto image = image::Image::open(path, {.load_bitmaps = false});
  ASSERT_TRUE(image.ok());
  EXPECT_GT(image->scan_pieces(), 3u);
  const std::string want = theirs(path, 16);
  for (const unsigned threads : {1u, 2u, 7u}) EXPECT_EQ(ours(path, 16, threads), want);
}

TEST(ChunkBits, SaysWhatIsWrong) {
  EXPECT_EQ(*chunk_bits(0, 4096), 8u);
  EXPECT_EQ(*chunk_bits(4, 4096), 0u);
  EXPECT_EQ(*chunk_bits(1024, 65536), 4u);
  EXPECT_FALSE(chunk_bits(3, 1024).ok());
  EXPECT_FALSE(chunk_bits(2, 4096).ok());
  EXPECT_TRUE(chunk_bits(std::uint64_t{1} << 32, 4096).ok());
  EXPECT_FALSE(chunk_bits(std::uint64_t{1} << 33, 4096).ok());
}

}  // namespace
}  // namespace e4r::report
