// SPDX-License-Identifier: GPL-2.0-or-later
// Tests mke2fs-lazy on storage whose blocks cannot be read until they are written
// (unwritten_shim.c).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "lazyinit/loop_device.h"
#include "lazyinit/mkfs_case.h"
#include "support/process.h"
#include "util/rng.h"

namespace e4r::lazyinit {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPage = 4096;

std::string whole(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class MkfsUnreadable : public MkfsTest {
 protected:
  // Makes an image with old data. None of its pages can be read.
  void SetUp() override {
    fill_with_junk();
    std::ofstream(map_) << std::string(kSize / kPage, '\0');
  }

  test::Outcome run_on(const std::string& device, const Words& command) const {
    Words words = {"env", "ASAN_OPTIONS=verify_asan_link_order=0",
                   std::string("LD_PRELOAD=") + UNWRITTEN_SHIM, "UNWRITTEN=" + device + ":" + map_};
    words.insert(words.end(), command.begin(), command.end());
    return test::run(words);
  }
  test::Outcome run(const Words& command) const { return run_on(path_, command); }
  test::Outcome make(const Words& words, const std::string& device) const {
    Words command = {MKE2FS_LAZY, "-F", "-q", "-t", "ext4"};
    command.insert(command.end(), words.begin(), words.end());
    command.push_back(device);
    return run_on(device, command);
  }

  // Checks that everything that mkfs, e2fsck or the kernel may read can be read. Runs e2fsck with
  // the primary descriptors and with a copy of them, and reads the whole journal.
  void expect_readable(const std::string& device, const std::string& block) {
    fs::remove(map_ + ".log");
    const auto fsck = run_on(device, {"e2fsck", "-fn", device});
    EXPECT_EQ(fsck.status, 0) << fsck.out << fsck.err;
    std::istringstream dump(run_on(device, {"dumpe2fs", device}).out);
    const std::string text = dump.str();
    const std::string label = "Backup superblock at ";
    if (const std::size_t at = text.find(label); at != std::string::npos) {
      const std::size_t begin = at + label.size();
      const std::string copy = text.substr(begin, text.find(',', begin) - begin);
      EXPECT_LE(run_on(device, {"e2fsck", "-fn", "-b", copy, "-B", block, device}).status, 4);
    }
    EXPECT_EQ(run_on(device, {"debugfs", "-R", "dump <8> " + dir_.file("journal"), device}).status,
              0);
    EXPECT_EQ(whole(map_ + ".log"), "");
  }

  [[nodiscard]] std::ptrdiff_t pages_written() const {
    const std::string map = whole(map_);
    return std::ranges::count(map, '\1');
  }

  const std::string map_ = dir_.file("map");
};

struct Shape {
  std::string name;
  std::string block;
  Words words;
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.name;
}

class MkfsUnreadableShape : public MkfsUnreadable, public testing::WithParamInterface<Shape> {};

TEST_P(MkfsUnreadableShape, IsReadableAfterwards) {
  const auto& [name, block, more] = GetParam();
  Words words = {"-b", block};
  words.insert(words.end(), more.begin(), more.end());
  const auto made = make(words, path_);
  ASSERT_EQ(made.status, 0) << made.err;
  expect_readable(path_, block);
  const Seen seen = look_at(path_);
  EXPECT_EQ(seen.flagged, seen.groups);
  EXPECT_EQ(seen.lies, 0);
  EXPECT_TRUE(seen.journal_zero);
  EXPECT_LT(pages_written(), static_cast<std::ptrdiff_t>(kSize / kPage / 2)) << "not all of it";
}

const std::string kZero = "itable_init=zero,write_unreadable";

INSTANTIATE_TEST_SUITE_P(
    All, MkfsUnreadableShape,
    testing::Values(
        Shape{"of4k", "4096", {"-E", kZero}}, Shape{"of1k", "1024", {"-E", kZero}},
        Shape{"of2k", "2048", {"-E", "itable_init=write,write_unreadable"}},
        Shape{"probed4k", "4096", {"-E", "itable_init=probe,write_unreadable"}},
        Shape{"probed1k", "1024", {"-E", "itable_init=probe,write_unreadable"}},
        Shape{"no_resize", "1024", {"-O", "^resize_inode", "-E", kZero}},
        Shape{"sparse2", "1024", {"-O", "sparse_super2,^resize_inode", "-E", kZero}},
        Shape{"bigalloc", "4096", {"-O", "bigalloc", "-C", "65536", "-E", kZero}},
        Shape{"bigalloc1k", "1024", {"-O", "bigalloc", "-C", "16384", "-g", "2048", "-E", kZero}},
        Shape{"meta_bg", "1024", {"-O", "meta_bg,^resize_inode", "-E", kZero}},
        Shape{"meta_bg4k", "4096", {"-g", "4096", "-O", "meta_bg,^resize_inode", "-E", kZero}},
        Shape{"no_flex_bg", "1024", {"-O", "^flex_bg", "-E", kZero}},
        Shape{"packed", "1024", {"-g", "1024", "-E", kZero + ",packed_meta_blocks=1"}},
        Shape{"mmp", "4096", {"-g", "4096", "-O", "mmp,orphan_file,quota", "-E", kZero}}),
    [](const auto& shape) { return shape.param.name; });

TEST_F(MkfsUnreadable, WithoutTheWordItIsNamed) {
  for (const std::string block : {"1024", "4096"}) {
    EXPECT_NE(
        run({"mke2fs", "-F", "-q", "-t", "ext4", "-b", block, "-E", "nodiscard", path_}).status, 0)
        << "the shim does its work";
    const auto failed = make({"-b", block, "-E", "itable_init=zero,nodiscard"}, path_);
    EXPECT_NE(failed.status, 0);
    EXPECT_TRUE(failed.err.ends_with(fmt::format(
        "mke2fs-lazy: {} cannot be read at byte 0: if its blocks can be read only after they were "
        "written (dm-integrity without wipe), give -E itable_init=zero,write_unreadable\n",
        path_)))
        << failed.err;
    SetUp();
  }
}

TEST_F(MkfsUnreadable, ABlockDeviceAsWell) {
  const test::LoopDevice loop(path_);
  if (loop.path().empty()) GTEST_SKIP() << "attaching a loop device is not permitted";
  for (const std::string block : {"1024", "4096"}) {
    std::ofstream(map_) << std::string(kSize / kPage, '\0');
    const auto made = make({"-b", block, "-E", kZero}, loop.path());
    ASSERT_EQ(made.status, 0) << made.err;
    expect_readable(loop.path(), block);
  }
}

TEST_F(MkfsUnreadable, FilesAreCopiedToo) {
  const std::string root = dir_.file("root");
  fs::create_directories(root + "/inner");
  for (int i = 0; i < 300; ++i)
    std::ofstream(fmt::format("{}/inner/{}", root, i)) << std::string(5000, 'x');
  const Words words = {"-N", "1024", "-g", "4096", "-d", root, "-E", kZero};
  Words of_4k = {"-b", "4096"};
  of_4k.insert(of_4k.end(), words.begin(), words.end());
  const auto made = make(of_4k, path_);
  ASSERT_EQ(made.status, 0) << made.err;
  expect_readable(path_, "4096");
  const auto file = run({"debugfs", "-R", "cat /inner/299", path_});
  EXPECT_TRUE(file.out == std::string(5000, 'x')) << file.err;

  SetUp();
  Words of_1k = {"-b", "1024"};
  of_1k.insert(of_1k.end(), words.begin(), words.end());
  const auto refused = make(of_1k, path_);
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(refused.err,
            "mke2fs-lazy: -d and write_unreadable need blocks as large as a page, but these have "
            "1024 bytes: give -b 4096\n");
  EXPECT_EQ(pages_written(), 0);
}

TEST_F(MkfsUnreadable, SmallBlocksAreWarnedOf) {
  EXPECT_NE(make({"-b", "1024", "-E", kZero}, path_).err.find("smaller than a page"),
            std::string::npos);
  SetUp();
  EXPECT_EQ(make({"-b", "4096", "-E", kZero}, path_).err, "");
}

// mke2fs asks whether to overwrite a file system. Before the user has answered, readable pages must
// not change.
TEST_F(MkfsUnreadable, WhatIsReadableIsLeftUntilMke2fsHasAsked) {
  ASSERT_EQ(stock({"-q", "-F", "-t", "ext4", "-b", "4096", "-E", "nodiscard", path_}).status, 0);
  std::string map(kSize / kPage, '\1');
  // The copies of the superblock are unreadable, and so are two pages that mke2fs does not write.
  const std::vector<std::size_t> copies = {8193 / 4, 24577 / 4};
  for (const std::size_t page : copies) map[page] = '\0';
  for (const std::size_t page : {5000, 7000}) map[page] = '\0';
  std::ofstream(map_) << map;
  const std::string before = whole(path_);
  // mke2fs asks only on a terminal, so run it on one. It gets no answer.
  const auto asked = run(
      {"script", "-qec", std::string(MKE2FS_LAZY) + " -q -t ext4 -b 1024 -E " + kZero + " " + path_,
       "/dev/null"});
  EXPECT_EQ(asked.status, 1);
  EXPECT_NE(asked.out.find("contains a ext4 file system"), std::string::npos) << asked.out;
  const std::string after = whole(path_);
  for (std::size_t page = 0; page < map.size(); ++page) {
    const bool is_copy = std::ranges::find(copies, page) != copies.end();
    const std::string expected =
        is_copy ? std::string(kPage, '\0') : before.substr(page * kPage, kPage);
    ASSERT_EQ(after.compare(page * kPage, kPage, expected), 0) << page;
  }
}

TEST_F(MkfsUnreadable, DryRunsAndRefusalsWriteNothing) {
  const std::string before = whole(path_);
  EXPECT_EQ(make({"-n", "-E", kZero}, path_).status, 0);
  EXPECT_NE(make({"-b", "3", "-E", kZero}, path_).status, 0);
  EXPECT_NE(make({"-E", kZero + ",nonsense"}, path_).status, 0);
  EXPECT_TRUE(whole(path_) == before);
  EXPECT_EQ(pages_written(), 0);
}

TEST_F(MkfsUnreadable, AtAnOffset) {
  const auto made = make({"-b", "4096", "-E", "offset=1536," + kZero}, path_);
  ASSERT_EQ(made.status, 0) << made.err;
  fs::remove(map_ + ".log");
  EXPECT_EQ(run({"e2fsck", "-fn", path_ + "?offset=1536"}).status, 0);
  EXPECT_EQ(whole(map_ + ".log"), "");
}

}  // namespace
}  // namespace e4r::lazyinit
