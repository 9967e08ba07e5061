// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/names.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>

#include "record/volume.h"

namespace e4r::test {
namespace {

// names.sh tests names on a real ext4.
TEST(PathOfInode, IsUnknownElsewhere) {
  struct stat st = {};
  ASSERT_EQ(::stat("/", &st), 0);
  const std::uint32_t dev = record::number_of(st.st_dev);
  EXPECT_FALSE(watch::path_of_inode("/", dev + 1, st.st_ino)) << "another file system";
  EXPECT_FALSE(watch::path_of_inode("/", dev, 0));
  EXPECT_FALSE(watch::path_of_inode("/", dev, std::uint64_t{1} << 32));
  EXPECT_FALSE(watch::path_of_inode("/no/such/place", dev, 12));
  EXPECT_FALSE(watch::path_of_inode("/proc/self/exe", dev, 12)) << "no directory";
}

TEST(LiveNames, KnowProcesses) {
  std::string own;
  std::getline(std::ifstream("/proc/self/comm"), own);
  watch::LiveNames names;
  EXPECT_EQ(names.process(static_cast<std::uint32_t>(::getpid())), own);
  EXPECT_EQ(names.process(0), "");
}

TEST(LiveNames, NobodyWaitsForFiles) {
  watch::LiveNames names;
  EXPECT_EQ(names.file(12), "") << "in no file system yet";
  auto picture = std::make_shared<watch::Picture>();
  picture->costly.resize(3);
  for (std::uint64_t i = 0; i < 3; ++i) picture->costly[i].ino = 100 + i;
  watch::Report report;
  report.mount_point = "/no/such/place";
  report.dev = 1;
  report.picture = picture;
  names.look_up(report);
  for (std::uint64_t ino = 0; ino < 5000; ++ino) EXPECT_EQ(names.file(ino), "");
  report.dev = 2;
  names.set_place(report);
  EXPECT_EQ(names.file(100), "");
}

}  // namespace
}  // namespace e4r::test
