// SPDX-License-Identifier: GPL-2.0-or-later
// Tests superblock fields, inodes and file mappings against mke2fs and debugfs.
#include <gtest/gtest.h>

#include <fstream>

#include "image/image.h"
#include "support/ext2_images.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace e4r::image {
namespace {

class Files : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    test::make_image(path_, 32u << 20, {"-t", GetParam(), "-b", "1024", "-L", "a label"});
    std::ofstream(dir_.file("data")) << std::string(700000, 'd');
    debugfs("write " + dir_.file("data") + " data");
    debugfs("symlink fast target");
    debugfs("punch data 100 199");
  }

  void debugfs(const std::string& command) {
    const auto done = test::run({"debugfs", "-w", "-R", command, path_});
    ASSERT_EQ(done.status, 0) << done.err;
  }

  test::TempDir dir_;
  std::string path_ = dir_.file("image");
};

INSTANTIATE_TEST_SUITE_P(Types, Files, testing::Values("ext4", "ext2"));

TEST_P(Files, HavePaths) {
  debugfs("mkdir d");
  debugfs("mkdir d/e");
  debugfs("write " + dir_.file("data") + " d/e/deep");
  debugfs("ln data d/e/other");
  const auto number = [&](const std::string& path) {
    const auto outcome = test::run({"debugfs", "-R", "stat " + path, path_});
    return std::stoull(outcome.out.substr(outcome.out.find("Inode: ") + 7));
  };
  const auto image = Image::open(path_);
  ASSERT_TRUE(image.ok()) << image.error().message;
  const std::uint64_t data = number("data"), deep = number("d/e/deep"), dir = number("d/e");
  const FoundPaths found = image->paths({data, deep, dir, 4000, 1ull << 40});
  EXPECT_TRUE(found.has_inodes);
  EXPECT_EQ(found.unreadable, 0u);
  const std::map<std::uint64_t, std::string> want = {
      {data, "/data"}, {deep, "/d/e/deep"}, {dir, "/d/e"}};
  EXPECT_EQ(found.paths, want);
}

// Some directories form a cycle, and one has no blocks.
TEST_P(Files, PathsEndInDamagedDirectories) {
  debugfs("mkdir d");
  debugfs("ln . d/loop");
  debugfs("mkdir lost");
  debugfs("sif lost block[0] 0");
  debugfs("sif lost block[2] 0");
  const auto image = Image::open(path_);
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_TRUE(image->paths({4000}).paths.empty());
}

TEST_P(Files, ABareImageHasNoPaths) {
  debugfs("clri <2>");
  const auto image = Image::open(path_);
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_FALSE(image->paths({12}).has_inodes);
}

TEST_P(Files, InodesAndExtents) {
  const auto image = Image::open(path_);
  ASSERT_TRUE(image.ok()) << image.error().message;
  const bool ext4 = image->superblock().features.extents;
  EXPECT_EQ(ext4, std::string(GetParam()) == "ext4");
  const auto data = image->inode(12);
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->size, 700000u);
  EXPECT_EQ(data->links, 1u);
  EXPECT_EQ(data->mode & 0170000, 0100000);
  EXPECT_EQ(data->extents, ext4);

  const auto extents = image->file_extents(12);
  ASSERT_TRUE(extents.ok()) << extents.error().message;
  std::uint64_t blocks = 0;
  std::uint64_t next = 0;
  for (const MappedExtent& extent : *extents) {
    EXPECT_GE(extent.logical, next);
    next = extent.logical + extent.len;
    blocks += extent.len;
    EXPECT_FALSE(extent.logical < 200 && next > 100) << "the hole";
  }
  EXPECT_EQ(blocks, 684u - 100);
  EXPECT_EQ(next, 684u);
  for (const MappedExtent& extent : *extents) {
    const auto mapped =
        test::run({"debugfs", "-R", "bmap data " + std::to_string(extent.logical), path_});
    EXPECT_EQ(mapped.out, std::to_string(extent.block) + "\n");
  }
  EXPECT_FALSE(image->file_extents(12, 0).ok());
  const auto link = image->file_extents(13);
  ASSERT_TRUE(link.ok());
  EXPECT_TRUE(link->empty());
  const auto unused = image->inode(20);
  ASSERT_TRUE(unused.ok());
  EXPECT_EQ(unused->links, 0u);
  EXPECT_FALSE(image->inode(0).ok());
  EXPECT_FALSE(image->inode(image->superblock().inodes_count + 1).ok());
}

TEST_P(Files, SuperblockFields) {
  const auto image = Image::open(path_);
  ASSERT_TRUE(image.ok());
  const SuperblockInfo& geo = image->superblock();
  EXPECT_EQ(geo.label, "a label");
  EXPECT_EQ(geo.uuid, "6a1c9e37-5f0d-4b7e-9a55-c0ffee4e4e4e");
  EXPECT_EQ(geo.block_size(), 1024u);
  EXPECT_EQ(geo.block_bits, 10u);
  EXPECT_EQ(geo.blocks_count, 32768u);
  EXPECT_EQ(geo.groups, 4u);
  EXPECT_EQ(geo.clusters_count, 32767u);
  EXPECT_EQ(geo.clusters_in(3), 8191u);
  EXPECT_FALSE(geo.holds_block(0));
  EXPECT_EQ(geo.group_of(1), 0u);
  EXPECT_EQ(geo.group_of(8193), 1u);
  EXPECT_EQ(geo.reserved_blocks, 1638u);
  EXPECT_EQ(geo.first_inode, 11u);
  EXPECT_TRUE(geo.clean);
  EXPECT_FALSE(geo.errors);
}

TEST(Superblock, StripeFromMke2fs) {
  const test::TempDir dir;
  const std::string path = dir.file("image");
  test::make_image(path, 32u << 20,
                   {"-t", "ext4", "-b", "4096", "-E", "stride=16,stripe_width=64"});
  const auto image = Image::open(path);
  ASSERT_TRUE(image.ok());
  EXPECT_EQ(image->superblock().stride, 16u);
  EXPECT_EQ(image->superblock().stripe_width, 64u);
}

}  // namespace
}  // namespace e4r::image
