// SPDX-License-Identifier: GPL-2.0-or-later
// Compares the disks that guests mount with the output of dumpe2fs and debugfs.
#include "image/superblock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <sstream>
#include <vector>

#include "support/process.h"
#include "support/temp_dir.h"

namespace e4r::image {
namespace {

constexpr std::uint32_t kJournal = 98 << 8 | 16;

// Returns the lines of dumpe2fs about free blocks.
std::string free_blocks(const std::string& path) {
  std::istringstream lines(test::run({"dumpe2fs", path}).out);
  std::string out;
  for (std::string line; std::getline(lines, line);)
    if (line.find("Free blocks: ") != line.npos) out += line + '\n';
  return out;
}

std::string head(const std::string& path) {
  return test::run({"dumpe2fs", "-h", path}).out;
}

// Returns a path by which other programs can open the file.
std::string name_of(const Fd& file) {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file.get());
}

class Mountable : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(Mountable, HasTheImagesFreeSpaceARootAndAJournal) {
  const test::TempDir dir;
  const std::string image = dir.file("image");
  std::vector<std::string> words = {"mke2fs", "-q", "-t", "ext4"};
  words.insert(words.end(), GetParam().begin(), GetParam().end());
  words.insert(words.end(), {image, "300M"});
  const auto made = test::run(words);
  ASSERT_EQ(made.status, 0) << made.err;
  // Marks blocks other than metadata as used.
  ASSERT_EQ(test::run({"debugfs", "-w", "-R", "setb 40000 500", image}).status, 0);
  const auto disks = make_mountable(image, image, kJournal);
  ASSERT_TRUE(disks.ok()) << disks.error().message;
  const std::string copy = name_of(disks->file_system);
  ASSERT_FALSE(free_blocks(image).empty());
  EXPECT_EQ(free_blocks(copy), free_blocks(image));
  const auto root = test::run({"debugfs", "-R", "stat <2>", copy});
  EXPECT_NE(root.out.find("Type: directory"), std::string::npos) << root.out << root.err;
  EXPECT_EQ(root.err.find("checksum"), std::string::npos) << root.err;
  const std::string text = head(copy);
  for (const char* left_out : {"quota", "orphan_file", " mmp", "needs_recovery", "casefold"})
    EXPECT_EQ(text.find(left_out), std::string::npos) << left_out;
  const bool journaled = head(image).find("has_journal") != std::string::npos;
  EXPECT_EQ(disks->journal.is_open(), journaled);
  if (!journaled) return;
  EXPECT_NE(text.find("Journal device:\t          0x6210"), std::string::npos) << text;
  const std::string journal = head(name_of(disks->journal));
  EXPECT_NE(journal.find("journal_dev"), std::string::npos) << journal;
  EXPECT_NE(journal.find("Total journal size:"), std::string::npos) << journal;
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Mountable,
    testing::Values(std::vector<std::string>{"-b", "4096"}, std::vector<std::string>{"-b", "1024"},
                    std::vector<std::string>{"-b", "2048", "-O", "^has_journal"},
                    std::vector<std::string>{"-O", "bigalloc", "-C", "16384"},
                    std::vector<std::string>{"-O", "^extents,^64bit,^metadata_csum"},
                    std::vector<std::string>{"-O", "^metadata_csum,uninit_bg"},
                    std::vector<std::string>{"-O", "quota,project,mmp", "-I", "512"}));

TEST(MountableErrors, WhatIsNoImage) {
  const auto disks = make_mountable("/etc/passwd", "passwd", kJournal);
  ASSERT_FALSE(disks.ok());
  EXPECT_NE(disks.error().message.find("passwd"), std::string::npos);
}

}  // namespace
}  // namespace e4r::image
