// SPDX-License-Identifier: GPL-2.0-or-later
// Compares bitmaps, geometry and metadata of images of every shape with libext2fs.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "image/image.h"
#include "support/ext2_images.h"
#include "support/shapes.h"
#include "support/temp_dir.h"

namespace e4r::image {
namespace {

class Shapes : public testing::TestWithParam<test::Shape> {
 protected:
  void SetUp() override { test::make_image(path_, GetParam().bytes, GetParam().options); }

  void expect_same_bitmaps() {
    const auto want = test::reference_bitmaps(path_);
    const auto image = Image::open(path_);
    ASSERT_TRUE(image.ok()) << image.error().message;
    EXPECT_TRUE(image->warnings().empty()) << image->warnings().front();
    ASSERT_EQ(want.size(), image->superblock().groups);
    for (GroupNumber group = 0; group < want.size(); ++group)
      ASSERT_TRUE(std::ranges::equal(want[group], image->bitmap(group))) << "group " << group;
  }

  test::TempDir dir_;
  std::string path_ = dir_.file("image");
};

INSTANTIATE_TEST_SUITE_P(Matrix, Shapes, testing::ValuesIn(test::shapes()),
                         [](const auto& shape) { return std::string(shape.param.name); });

TEST_P(Shapes, BitmapsOfAFreshImage) {
  expect_same_bitmaps();
}

TEST_P(Shapes, BitmapsOfAFilledImage) {
  test::fill_image(path_, {.seed = 7, .max_free = 200, .max_used = 100, .skip_percent = 30});
  expect_same_bitmaps();
}

TEST_P(Shapes, DescriptorCountsAgreeWithTheBitmaps) {
  test::fill_image(path_, {.seed = 8, .max_free = 20, .max_used = 50});
  const auto image = Image::open(path_);
  ASSERT_TRUE(image.ok()) << image.error().message;
  std::uint64_t free_blocks = 0;
  for (GroupNumber group = 0; group < image->superblock().groups; ++group) {
    std::uint64_t free = 0;
    for (const std::uint64_t word : image->bitmap(group))
      free += static_cast<std::uint64_t>(std::popcount(~word));
    EXPECT_EQ(free, image->groups()[group].free_clusters) << "group " << group;
    free_blocks += free << image->superblock().cluster_bits;
  }
  EXPECT_EQ(free_blocks, image->superblock().free_blocks_count);
}

TEST_P(Shapes, MetadataIsInUse) {
  const auto want = test::reference_bitmaps(path_);
  const auto image = Image::open(path_);
  ASSERT_TRUE(image.ok()) << image.error().message;
  const SuperblockInfo& geo = image->superblock();
  for (const BlockRange& range : image->metadata())
    for (Block block = range.first; block < range.end(); ++block) {
      const GroupNumber group = geo.group_of(block);
      ASSERT_LT(group, geo.groups);
      const std::uint64_t bit = (block - geo.first_block(group)) >> geo.cluster_bits;
      ASSERT_TRUE(image->bitmap(group)[bit / 64] >> (bit % 64) & 1) << "block " << block;
      ASSERT_TRUE(want[group][bit / 64] >> (bit % 64) & 1) << "block " << block;
    }
}

}  // namespace
}  // namespace e4r::image
