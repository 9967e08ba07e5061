// SPDX-License-Identifier: GPL-2.0-or-later
// Compares layout scores with counts made block by block, and with e2fsck's report.
#include "stats/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "support/ext2_images.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "util/rng.h"

namespace e4r::stats {
namespace {

using Files = replay::FileLayouts;
using Blocks = std::map<std::uint64_t, std::uint64_t>;  // file block -> device block

void expect_same_as_one_by_one(const FileLayoutScore& got, const std::vector<Blocks>& files) {
  FileLayoutScore want;
  std::vector<double> shares;
  for (const Blocks& file : files) {
    if (file.empty()) continue;
    ++want.files;
    std::uint64_t following = 0;
    for (auto it = std::next(file.begin()); it != file.end(); ++it) {
      const std::uint64_t expected = std::prev(it)->second + 1;
      following += it->second == expected ? 1 : 0;
      want.distance += std::max(it->second, expected) - std::min(it->second, expected);
    }
    want.following += following;
    want.successors += file.size() - 1;
    if (file.size() > 1)
      shares.push_back(static_cast<double>(following) / static_cast<double>(file.size() - 1));
  }
  EXPECT_EQ(got.files, want.files);
  EXPECT_EQ(got.successors, want.successors);
  EXPECT_EQ(got.following, want.following);
  EXPECT_EQ(got.distance, want.distance);
  std::sort(shares.begin(), shares.end());
  const std::size_t n = shares.size();
  const double median = n == 0 ? 0 : (shares[(n - 1) / 2] + shares[n / 2]) / 2;
  EXPECT_DOUBLE_EQ(got.median, median);
}

TEST(FileLayoutScore, RandomFilesAgreeWithOneByOne) {
  Rng rng(11);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    Files files;
    std::vector<Blocks> plain(rng.between(1, 12));
    std::uint64_t device = 100;
    for (int step = 0; step < 40; ++step) {
      const std::uint64_t ino = rng.below(plain.size());
      const FileExtent extent = {rng.below(50), device, rng.between(1, 6)};
      device = rng.chance(1, 2) ? device + extent.len : rng.between(100, 5000);
      files[ino].map(extent);
      for (std::uint64_t i = 0; i < extent.len; ++i)
        plain[ino][extent.logical + i] = extent.block + i;
    }
    expect_same_as_one_by_one(file_layout_score(files), plain);
  }
}

TEST(FileLayoutScore, ABlockBehindAHoleFollowsWhatTheFileHasBefore) {
  Files files;
  files[1].map({0, 100, 4});
  files[1].map({8, 104, 4});  // just after the previous extent
  files[1].map({20, 110, 1});
  const FileLayoutScore score = file_layout_score(files);
  EXPECT_EQ(score.successors, 8u);
  EXPECT_EQ(score.following, 7u);
  EXPECT_EQ(score.seeks(), 1u);
  EXPECT_EQ(score.distance, 2u);
}

TEST(FileLayoutScore, SingleBlocksAndEmptyFilesHaveNoScore) {
  Files files;
  files[1];
  files[2].map({5, 7, 1});
  const FileLayoutScore score = file_layout_score(files);
  EXPECT_EQ(score.files, 1u);
  EXPECT_EQ(score.successors, 0u);
  EXPECT_EQ(score.median, 0.0);
  EXPECT_EQ(score.by_extents[0], 1u);
}

TEST(FileLayoutScore, FilesAreCountedByExtents) {
  Files files;
  for (std::uint64_t extents = 1; extents <= 9; ++extents)
    for (std::uint64_t i = 0; i < extents; ++i) files[extents].map({2 * i, 1000 - 10 * i, 1});
  const FileLayoutScore score = file_layout_score(files);
  EXPECT_EQ(score.by_extents[0], 1u);  // 1
  EXPECT_EQ(score.by_extents[1], 1u);  // 2
  EXPECT_EQ(score.by_extents[2], 2u);  // 3 and 4
  EXPECT_EQ(score.by_extents[3], 4u);  // 5 to 8
  EXPECT_EQ(score.by_extents[4], 1u);  // 9
  EXPECT_EQ(score.seeks(), 36u);
  EXPECT_EQ(score.distance, 36u * 11);  // ten blocks back, from the end of a one-block extent
}

// Makes a file system whose free space consists of small holes, with a large and a sparse file.
void make_scattered(const test::TempDir& dir, const std::string& image) {
  test::make_image(image, 8 << 20, {"-t", "ext4", "-b", "1024", "-O", "^has_journal"});
  const auto write = [&](const char* name, std::size_t bytes, std::streamoff at) {
    std::fstream file(dir.file(name), std::ios::in | std::ios::out | std::ios::app);
    file.close();
    file.open(dir.file(name), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file << std::string(bytes, 'x');
  };
  write("small", 3000, 0);
  write("large", 400'000, 0);
  write("sparse", 9000, 0);
  write("sparse", 50'000, 200'000);
  std::ofstream commands(dir.file("commands"));
  for (int i = 0; i < 1000; ++i) commands << "write " << dir.file("small") << " small" << i << "\n";
  for (int i = 0; i < 1000; i += 2) commands << "rm small" << i << "\n";
  for (const char* name : {"large", "sparse"})
    commands << "write " << dir.file(name) << " " << name << "\n";
  commands.close();
  ASSERT_EQ(test::run({"debugfs", "-w", "-f", dir.file("commands"), image}).status, 0);
}

// Parses the leaves of the file's extent tree from debugfs's output.
replay::FileLayout layout_of(const std::string& image, const std::string& name) {
  std::istringstream lines(test::run({"debugfs", "-R", "ex -l /" + name, image}).out);
  replay::FileLayout layout;
  for (std::string line; std::getline(lines, line);) {
    unsigned long long first = 0, last = 0, block = 0, end = 0, len = 0;
    if (std::sscanf(line.c_str(), " %*d/ %*d %*d/ %*d %llu - %llu %llu - %llu %llu", &first, &last,
                    &block, &end, &len) == 5)
      layout.map({first, block, len});
  }
  return layout;
}

unsigned long long inode_of(const std::string& image, const std::string& name) {
  std::istringstream lines(test::run({"debugfs", "-R", "ls -p /", image}).out);
  for (std::string line; std::getline(lines, line);)
    if (line.find("/" + name + "/") != std::string::npos) return std::stoull(line.substr(1));
  return 0;
}

TEST(FileLayoutScore, SeeksAreThoseThatE2fsckReports) {
  const test::TempDir dir;
  const std::string image = dir.file("image");
  ASSERT_NO_FATAL_FAILURE(make_scattered(dir, image));
  Files files;
  for (const char* name : {"large", "sparse"})
    files[inode_of(image, name)] = layout_of(image, name);
  const FileLayoutScore score = file_layout_score(files);
  std::istringstream lines(test::run({"e2fsck", "-fn", "-E", "fragcheck", image}).out);
  std::uint64_t seeks = 0, distance = 0;
  for (std::string line; std::getline(lines, line);) {
    unsigned long long ino = 0;
    long long expected = 0, got = 0;
    if (std::sscanf(line.c_str(), " %llu(f): expecting %lld actual extent phys %lld", &ino,
                    &expected, &got) != 3 ||
        !files.contains(ino))
      continue;
    ++seeks;
    distance += static_cast<std::uint64_t>(std::max(expected, got) - std::min(expected, got));
  }
  EXPECT_GT(seeks, 50u);
  EXPECT_EQ(score.seeks(), seeks);
  EXPECT_EQ(score.distance, distance);
}

}  // namespace
}  // namespace e4r::stats
