// SPDX-License-Identifier: GPL-2.0-or-later
// Bitmaps, geometry and metadata of images of every shape, held against libext2fs.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <ostream>

#include "image/image.h"
#include "support/ext2_images.h"
#include "support/temp_dir.h"

namespace e4r::image {
namespace {

struct Shape {
  const char* name;
  std::uint64_t bytes;
  std::vector<std::string> options;
  friend void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }
};

constexpr std::uint64_t kMiB = 1u << 20;

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> kShapes = {
      {"default_4k", 300 * kMiB, {"-t", "ext4", "-b", "4096"}},
      {"default_1k", 70 * kMiB + 5 * 1024, {"-t", "ext4", "-b", "1024"}},
      {"block_2k_meta_bg", 150 * kMiB, {"-t", "ext4", "-b", "2048", "-O", "meta_bg,^resize_inode"}},
      {"meta_bg_many_groups",
       200 * kMiB,
       {"-t", "ext4", "-b", "1024", "-g", "1024", "-O", "meta_bg,^resize_inode,64bit"}},
      {"block_64k", 5000 * kMiB, {"-t", "ext4", "-b", "65536"}},
      {"bigalloc_16k_of_4k",
       1200 * kMiB,
       {"-t", "ext4", "-b", "4096", "-O", "bigalloc", "-C", "16384"}},
      {"bigalloc_1k", 300 * kMiB, {"-t", "ext4", "-b", "1024", "-O", "bigalloc", "-C", "16384"}},
      {"no_64bit", 300 * kMiB, {"-t", "ext4", "-b", "4096", "-O", "^64bit"}},
      {"uninit_bg",
       300 * kMiB,
       {"-t", "ext4", "-b", "4096", "-O", "^metadata_csum,uninit_bg,^64bit"}},
      {"no_checksums", 300 * kMiB, {"-t", "ext4", "-b", "4096", "-O", "^metadata_csum,^uninit_bg"}},
      {"ext2", 100 * kMiB, {"-t", "ext2", "-b", "1024"}},
      {"ext3", 400 * kMiB, {"-t", "ext3", "-b", "4096"}},
      {"no_flex_bg_csum", 500 * kMiB, {"-t", "ext4", "-b", "4096", "-O", "^flex_bg"}},
      {"sparse_super2", 700 * kMiB, {"-t", "ext4", "-b", "4096", "-O", "sparse_super2"}},
      {"no_sparse_super",
       100 * kMiB,
       {"-t", "ext4", "-b", "1024", "-O", "^sparse_super,^resize_inode"}},
      {"odd_group_size", 100 * kMiB, {"-t", "ext4", "-b", "4096", "-g", "1032", "-G", "4"}},
      {"big_flex", 900 * kMiB, {"-t", "ext4", "-b", "1024", "-G", "64"}},
  };
  return kShapes;
}

class Shapes : public testing::TestWithParam<Shape> {
 protected:
  void SetUp() override { test::make_image(path_, GetParam().bytes, GetParam().options); }

  void expect_same_bitmaps() {
    const auto want = test::reference_bitmaps(path_);
    const auto image = Image::open(path_);
    ASSERT_TRUE(image.ok()) << image.error().message;
    EXPECT_TRUE(image->warnings().empty()) << image->warnings().front();
    ASSERT_EQ(want.size(), image->geometry().groups_count);
    for (Group group = 0; group < want.size(); ++group)
      ASSERT_TRUE(std::ranges::equal(want[group], image->bitmap(group))) << "group " << group;
  }

  test::TempDir dir_;
  std::string path_ = dir_.file("image");
};

INSTANTIATE_TEST_SUITE_P(Matrix, Shapes, testing::ValuesIn(shapes()),
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
  for (Group group = 0; group < image->geometry().groups_count; ++group) {
    std::uint64_t free = 0;
    for (const std::uint64_t word : image->bitmap(group))
      free += static_cast<std::uint64_t>(std::popcount(~word));
    EXPECT_EQ(free, image->groups()[group].free_clusters) << "group " << group;
    free_blocks += free << image->geometry().cluster_ratio_bits;
  }
  EXPECT_EQ(free_blocks, image->geometry().free_blocks_count);
}

TEST_P(Shapes, MetadataIsInUse) {
  const auto image = Image::open(path_);
  ASSERT_TRUE(image.ok()) << image.error().message;
  const Geometry& geo = image->geometry();
  for (const BlockRange& range : image->metadata())
    for (Block block = range.first; block < range.end(); ++block) {
      const Group group = geo.group_of(block);
      ASSERT_LT(group, geo.groups_count);
      const std::uint64_t bit = (block - geo.group_first_block(group)) >> geo.cluster_ratio_bits;
      ASSERT_TRUE(image->bitmap(group)[bit / 64] >> (bit % 64) & 1) << "block " << block;
    }
}

}  // namespace
}  // namespace e4r::image
