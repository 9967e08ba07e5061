// SPDX-License-Identifier: GPL-2.0-or-later
#include <e4replay/image.h>
#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <thread>

#include "support/ext2_images.h"
#include "support/temp_dir.h"

namespace {

using e4replay::FreeExtents;
using e4replay::Image;

class LibraryImage : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = std::make_unique<e4r::test::TempDir>();
    e4r::test::make_image(path(), 64u << 20, {"-t", "ext4", "-b", "1024", "-L", "disk"});
    e4r::test::fill_image(path(), {.seed = 11, .max_free = 30, .max_used = 30});
  }
  static void TearDownTestSuite() { dir_.reset(); }
  static std::string path() { return dir_->file("image"); }
  static std::string file(const std::string& name) { return dir_->file(name); }

 private:
  static std::unique_ptr<e4r::test::TempDir> dir_;
};
std::unique_ptr<e4r::test::TempDir> LibraryImage::dir_;

TEST_F(LibraryImage, SaysWhatTheSuperblockSays) {
  const auto image = Image::open(path());
  ASSERT_TRUE(image.ok()) << image.error().message;
  const e4replay::FileSystem& fs = image->file_system();
  EXPECT_EQ(fs.block_size, 1024u);
  EXPECT_EQ(fs.blocks, 65536u);
  EXPECT_EQ(fs.first_block, 1u);
  EXPECT_EQ(fs.groups, 8u);
  EXPECT_EQ(fs.blocks_per_group, 8192u);
  EXPECT_EQ(fs.blocks_per_cluster, 1u);
  EXPECT_EQ(fs.label, "disk");
  EXPECT_EQ(fs.uuid.size(), 36u);
  EXPECT_TRUE(image->warnings().empty());
}

TEST_F(LibraryImage, HasTheBitmapsOfLibext2fs) {
  const auto image = Image::open(path());
  ASSERT_TRUE(image.ok()) << image.error().message;
  const auto wanted = e4r::test::reference_bitmaps(path());
  ASSERT_EQ(wanted.size(), image->file_system().groups);
  for (std::uint32_t group = 0; group < wanted.size(); ++group) {
    const auto words = image->bitmap(group);
    EXPECT_TRUE(std::equal(words.begin(), words.end(), wanted[group].begin(), wanted[group].end()));
    std::uint32_t used = 0;
    for (const std::uint64_t word : words) used += static_cast<std::uint32_t>(std::popcount(word));
    const auto info = image->group(group);
    ASSERT_TRUE(info.ok());
    EXPECT_EQ(info->free_clusters, words.size() * 64 - used);
    EXPECT_EQ(info->fault, "");
  }
  EXPECT_TRUE(image->bitmap(8).empty());
  const auto none = image->group(8);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message, path() + ": has no group 8: it has 8");
}

TEST_F(LibraryImage, CountsTheSameWithAndWithoutItsBitmaps) {
  const auto kept = Image::open(path());
  const auto scanned = Image::open(path(), {.bitmaps = false, .threads = 3});
  ASSERT_TRUE(kept.ok() && scanned.ok());
  EXPECT_TRUE(scanned->bitmap(0).empty());
  for (const std::uint64_t chunk_kb : {0, 1, 16, 4096}) {
    const auto one = kept->free_extents(chunk_kb);
    const auto other = scanned->free_extents(chunk_kb);
    ASSERT_TRUE(one.ok() && other.ok());
    EXPECT_EQ(*one, *other);
    EXPECT_EQ(one->chunk_blocks, chunk_kb == 0 ? 1024 : chunk_kb);
    EXPECT_EQ(one->blocks, kept->file_system().free_blocks);
    EXPECT_GT(one->count, 500u);
  }
}

TEST_F(LibraryImage, MayBeAskedInThreadsAndOutlivesItsCopies) {
  auto opened = Image::open(path(), {.bitmaps = false});
  ASSERT_TRUE(opened.ok());
  auto copy = std::make_unique<Image>(*opened);
  std::vector<std::uint64_t> counts(4);
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t& count : counts)
      threads.emplace_back([&count, image = *copy] {
        const auto free = image.free_extents();
        count = free.ok() ? free->count : 0;
      });
  }
  copy.reset();
  const auto free = opened->free_extents();
  ASSERT_TRUE(free.ok());
  for (const std::uint64_t count : counts) EXPECT_EQ(count, free->count);
}

TEST_F(LibraryImage, OfAnotherFileIsAnErrorThatNamesIt) {
  const auto none = Image::open(file("none"));
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find(file("none") + ": No such file"), std::string::npos)
      << none.error().message;
  std::ofstream(file("text")) << std::string(100000, 'x');
  const auto text = Image::open(file("text"));
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().message.rfind(file("text") + " is not an ext4 image", 0), 0u)
      << text.error().message;
}

TEST_F(LibraryImage, WithDamageWarnsAndLeavesTheGroupOutUnlessStrict) {
  const std::string damaged = file("damaged");
  e4r::test::make_image(damaged, 64u << 20, {"-t", "ext4", "-b", "1024", "-O", "metadata_csum"});
  {
    std::fstream bytes(damaged, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(e4r::test::bitmap_offset(damaged, 0)));
    bytes.put('\x55');
  }
  const auto image = Image::open(damaged);
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image->warnings().size(), 1u);
  EXPECT_NE(image->group(0)->fault, "");
  EXPECT_EQ(image->bitmap(0)[0], ~std::uint64_t{0});
  EXPECT_FALSE(Image::open(damaged, {.strict = true}).ok());
}

TEST_F(LibraryImage, TakesNoChunkThatIsNoPowerOfTwo) {
  const auto image = Image::open(path());
  ASSERT_TRUE(image.ok());
  const auto free = image->free_extents(3);
  ASSERT_FALSE(free.ok());
  EXPECT_NE(free.error().message.find("power of two"), std::string::npos);
}

}  // namespace
