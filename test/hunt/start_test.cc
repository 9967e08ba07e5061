// SPDX-License-Identifier: GPL-2.0-or-later
#include "hunt/candidate.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "hunt/images.h"
#include "support/process.h"
#include "util/parallel.h"

namespace e4r::hunt {
namespace {

class HuntStart : public ::testing::Test {
 protected:
  Images images_;
  Starts& starts_ = images_.starts();
};

Origin origin_of(std::uint32_t block_size) {
  return {.bytes = 64 << 20, .block_size = block_size};
}

// Returns the length of the longest run of free clusters, and the number of free clusters, as
// libext2fs reads them.
std::pair<std::uint32_t, std::uint64_t> free_runs(const std::string& path,
                                                  std::uint32_t clusters_per_group) {
  std::uint32_t longest = 0;
  std::uint64_t all = 0;
  for (const auto& words : test::reference_bitmaps(path)) {
    std::uint32_t run = 0;
    for (std::uint32_t bit = 0; bit < clusters_per_group; ++bit) {
      run = (words[bit / 64] >> bit % 64 & 1) != 0 ? 0 : run + 1;
      longest = std::max(longest, run);
      all += run > 0;
    }
  }
  return {longest, all};
}

TEST_F(HuntStart, NewFileSystemsAreMadeOnce) {
  for (int i = 0; i < 2; ++i) {
    const auto start = starts_.make(origin_of(4096));
    ASSERT_TRUE(start.ok()) << start.error().message;
    const auto [longest, all] = free_runs(*(*start)->path(), 32768);
    EXPECT_EQ((*start)->free_blocks(), all);
  }
  EXPECT_EQ(images_.made(), 1);
}

// Ageing is the longest part of a hunt. It must stop soon after the user asks for it.
TEST_F(HuntStart, AgeingEndsWhenItIsAskedTo) {
  Origin origin = origin_of(4096);
  origin.turnover = 100'000'000;  // percent
  origin.utilisation = 80;
  int asked = 0;
  const Stoppable stoppable([&asked] { return ++asked == 1000; });
  const auto start = starts_.make(origin);
  ASSERT_FALSE(start.ok());
  EXPECT_EQ(start.error().message, "stopped");
  EXPECT_EQ(asked, 1000);
}

TEST_F(HuntStart, PiecesAreNoLongerThanAskedFor) {
  for (const std::uint32_t block_size : {1024u, 4096u})
    for (const std::uint32_t piece : {4u, 100u, 4096u}) {
      Origin origin = origin_of(block_size);
      origin.piece = piece;
      origin.gap = 7;
      const auto start = starts_.make(origin);
      ASSERT_TRUE(start.ok()) << start.error().message;
      const auto path = (*start)->path();
      ASSERT_TRUE(path.ok()) << path.error().message;
      const auto [longest, all] = free_runs(*path, block_size * 8);
      EXPECT_EQ(longest, piece);
      EXPECT_EQ((*start)->free_blocks(), all);
      EXPECT_EQ(*path, *(*start)->path());
    }
}

TEST_F(HuntStart, AnAgedOneIsTheSameEachTimeAndItsImageIsWhole) {
  Origin origin = origin_of(1024);
  origin.turnover = 50;
  origin.utilisation = 70;
  const auto start = starts_.make(origin), again = starts_.make(origin);
  ASSERT_TRUE(start.ok() && again.ok());
  origin.age_seed = 1;
  const auto other = starts_.make(origin);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(test::reference_bitmaps(*(*start)->path()), test::reference_bitmaps(*(*again)->path()));
  EXPECT_NE(test::reference_bitmaps(*(*start)->path()), test::reference_bitmaps(*(*other)->path()));
  const auto path = (*start)->path();
  const std::string elsewhere =  // a path that another process can open
      fmt::format("/proc/{}{}", ::getpid(), path->substr(std::string_view("/proc/self").size()));
  const auto outcome = test::run({"dumpe2fs", "-h", elsewhere});
  EXPECT_NE(
      outcome.out.find(fmt::format("Free blocks:              {}\n", (*start)->free_blocks())),
      std::string::npos)
      << outcome.out << outcome.err;
}

TEST_F(HuntStart, NoRoomForAnAgeIsNoError) {
  Origin origin = origin_of(4096);
  origin.turnover = 10;
  origin.utilisation = 1;
  const auto start = starts_.make(origin);
  ASSERT_TRUE(start.ok()) << start.error().message;
  EXPECT_EQ(*start, nullptr);
}

// The given image is a real file system. Its files stay, and the files of a case get inodes that
// are free.
TEST_F(HuntStart, AnImageThatIsGivenIsUsedAsItIs) {
  const std::string path = images_.file("given.img"), files = images_.file("files");
  std::filesystem::create_directory(files);
  for (int i = 0; i < 30; ++i)
    std::ofstream(fmt::format("{}/{}", files, i)) << std::string(9000, 'x');
  test::make_image(path, 64 << 20, {"-t", "ext4", "-b", "4096", "-d", files});
  Progress silent(false);
  const app::Listener listener = {silent, [](const std::string& text) { ADD_FAILURE() << text; }};
  const Status used = starts_.use(path, 1, listener);
  ASSERT_TRUE(used.ok()) << used.error().message;
  const auto start = starts_.make({});
  ASSERT_TRUE(start.ok() && *start != nullptr);
  EXPECT_EQ(*(*start)->path(), path);
  EXPECT_EQ(images_.made(), 0);
  const auto [longest, all] = free_runs(path, 32768);
  EXPECT_EQ((*start)->free_blocks(), all);
  const auto image = image::Image::open(path);
  ASSERT_TRUE(image.ok());
  for (const bool one_directory : {false, true}) {
    const auto& inodes = (*start)->inodes(one_directory);
    ASSERT_FALSE(inodes.empty());
    EXPECT_EQ(std::set(inodes.begin(), inodes.end()).size(), inodes.size());
    for (const std::uint32_t ino : inodes) {
      const auto inode = image->inode(ino);
      ASSERT_TRUE(inode.ok() && ino >= image->superblock().first_inode) << ino;
      EXPECT_EQ(inode->links, 0) << ino;
    }
  }
}

TEST_F(HuntStart, AnImageWithoutRoomIsRefused) {
  const std::string path = images_.file("full.img");
  test::make_image(path, 64 << 20, {"-t", "ext4", "-b", "4096"});
  test::fill_image(path, {});
  Progress silent(false);
  const Status used = starts_.use(path, 1, {silent, [](const std::string&) {}});
  ASSERT_FALSE(used.ok());
  EXPECT_NE(used.error().message.find("full.img: 0 blocks and "), std::string::npos);
}

TEST(HuntStarts, AnImageThatCannotBeMadeIsOne) {
  Starts starts([](std::uint64_t, std::uint32_t) -> Result<std::string> {
    return error("no room on the disk");
  });
  const auto start = starts.make(origin_of(4096));
  ASSERT_FALSE(start.ok());
  EXPECT_EQ(start.error().message, "no room on the disk");
}

}  // namespace
}  // namespace e4r::hunt
