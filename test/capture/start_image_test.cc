// SPDX-License-Identifier: GPL-2.0-or-later
// Tests that a capture's copy and the file system agree about free space.
#include "capture/image_parts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "image/image.h"
#include "support/ext2_images.h"
#include "support/shapes.h"
#include "support/temp_dir.h"

namespace e4r::capture {
namespace {

class StartImageOf : public testing::TestWithParam<test::Shape> {};

TEST_P(StartImageOf, SaysWhatTheFileSystemSays) {
  const test::TempDir dir;
  const std::string path = dir.file("image");
  test::make_image(path, GetParam().bytes, GetParam().options);
  test::fill_image(path, {.seed = 3, .max_free = 200, .max_used = 100, .skip_percent = 60});
  const auto blocks = StartImage::read(path);
  ASSERT_TRUE(blocks.ok()) << blocks.error().message;
  MemoryImage kept;
  const Status packed = blocks->pack([&](std::string_view part) { return kept.add(part); });
  ASSERT_TRUE(packed.ok()) << packed.error().message;

  const auto whole = image::Image::open(path);
  const auto copy = image::Image::open(kept.path());
  ASSERT_TRUE(whole.ok() && copy.ok());
  EXPECT_TRUE(whole->warnings().empty());
  EXPECT_TRUE(copy->warnings().empty()) << copy->warnings().front();
  ASSERT_EQ(copy->superblock().groups, whole->superblock().groups);
  for (GroupNumber group = 0; group < whole->superblock().groups; ++group) {
    SCOPED_TRACE(group);
    EXPECT_TRUE(std::ranges::equal(copy->bitmap(group), whole->bitmap(group)));
    EXPECT_EQ(copy->groups()[group].free_clusters, whole->groups()[group].free_clusters);
    EXPECT_EQ(copy->groups()[group].inode_bitmap, whole->groups()[group].inode_bitmap);
  }
}

std::vector<test::Shape> with_1k_of_meta_bg() {
  std::vector<test::Shape> all = test::shapes();
  all.push_back({"bigalloc_4k_of_1k_meta_bg",
                 512ull << 20,
                 {"-t", "ext4", "-b", "1024", "-C", "4096", "-g", "8192", "-O",
                  "^has_journal,bigalloc,meta_bg,^resize_inode,64bit"}});
  all.push_back({"bigalloc_2k_of_1k_many_groups",
                 200ull << 20,
                 {"-t", "ext4", "-b", "1024", "-C", "2048", "-g", "2048", "-O",
                  "^has_journal,bigalloc,64bit"}});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Shapes, StartImageOf, testing::ValuesIn(with_1k_of_meta_bg()),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace e4r::capture
