// SPDX-License-Identifier: GPL-2.0-or-later
// Tests mke2fs-lazy on several kinds of storage: the discards at the start, the writes, and the
// number of calls.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "lazyinit/loop_device.h"
#include "lazyinit/mkfs_case.h"
#include "lazyinit/place.h"
#include "support/process.h"

namespace e4r::lazyinit {
namespace {

namespace fs = std::filesystem;

class MkfsStorage : public MkfsTest {
 protected:
  // Returns the number of times that a word occurs in strace's log.
  static int count(const std::string& log, const std::string& word) {
    std::ifstream lines(log);
    int found = 0;
    for (std::string line; std::getline(lines, line);)
      found += line.find(word) != std::string::npos ? 1 : 0;
    return found;
  }
};

TEST_F(MkfsStorage, IsLookedAt) {
  EXPECT_TRUE(look_at_storage(path_).reads_as_zeros) << "there is nothing yet";
  std::ofstream(path_).close();
  EXPECT_TRUE(look_at_storage(path_).reads_as_zeros) << "empty";
  fs::resize_file(path_, kSize);
  EXPECT_TRUE(look_at_storage(path_).reads_as_zeros) << "all holes";
  EXPECT_TRUE(look_at_storage(path_).zeros_last);
  fill_with_junk();
  EXPECT_FALSE(look_at_storage(path_).reads_as_zeros);
  EXPECT_TRUE(look_at_storage(path_).zeros_last);
  const test::LoopDevice loop(path_);
  if (loop.path().empty()) GTEST_SKIP() << "attaching a loop device is not permitted";
  EXPECT_FALSE(look_at_storage(loop.path()).reads_as_zeros) << "a device is not read";
  EXPECT_TRUE(look_at_storage(loop.path()).zeros_last) << "it shows a file";
  const test::LoopDevice second(loop.path());
  if (second.path().empty()) GTEST_SKIP() << "no loop device on a loop device";
  EXPECT_FALSE(look_at_storage(second.path()).zeros_last) << "it can discard, and shows a device";
  EXPECT_FALSE(look_at_storage("/dev/null").zeros_last);
}

// The device supports discard, but zeros that come from a discard may not last.
TEST_F(MkfsStorage, WhatIsBelievedIsNotDiscarded) {
  fill_with_junk();
  const test::LoopDevice below(path_);
  if (below.path().empty()) GTEST_SKIP() << "attaching a loop device is not permitted";
  const test::LoopDevice loop(below.path());
  if (loop.path().empty()) GTEST_SKIP() << "no loop device on a loop device";
  const auto probe = [&](const std::string& more) {
    return lazy({"-F", "-t", "ext4", "-b", "1024", "-E", "itable_init=probe" + more, loop.path()});
  };
  const auto made = probe("");
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(made.out.find("Discarding"), std::string::npos) << made.out;
  EXPECT_NE(made.out.find("8 tables zeroed, 0 found zero"), std::string::npos) << made.out;
  const auto refused = probe(",discard");
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.err, "mke2fs-lazy: discard and itable_init=probe: what " + loop.path() +
                             " discards may read as zeros now and as old data later: leave out "
                             "discard, or add trust_discard if zeros last on this device\n");
  const auto trusted = probe(",trust_discard");
  EXPECT_EQ(trusted.status, 0) << trusted.err;
  EXPECT_NE(trusted.out.find("Discarding"), std::string::npos) << trusted.out;
  EXPECT_NE(trusted.out.find("0 tables zeroed, 8 found zero"), std::string::npos) << trusted.out;
}

// Copies the data of the file without its holes. The copy must still have every table and the
// journal.
TEST_F(MkfsStorage, WrittenTablesAreNoHoles) {
  const std::string copy = dir_.file("copy");
  for (const std::string init : {"zero", "write"}) {
    fs::remove(path_);
    ASSERT_EQ(
        lazy({"-q", "-t", "ext4", "-b", "1024", "-E", "itable_init=" + init, path_, "64M"}).status,
        0);
    fill_with_junk(copy);
    // cp --sparse would also leave out zeros that are data. This program leaves out only holes.
    ASSERT_EQ(test::run({"python3", "-c", R"(
import os, sys
a = os.open(sys.argv[1], os.O_RDONLY); b = os.open(sys.argv[2], os.O_WRONLY)
at = 0
try:
    while True:
        at = os.lseek(a, at, os.SEEK_DATA); end = os.lseek(a, at, os.SEEK_HOLE)
        os.pwrite(b, os.pread(a, end - at, at), at); at = end
except OSError: pass)",
                         path_, copy})
                  .status,
              0);
    const Seen seen = look_at(copy);
    EXPECT_EQ(seen.flagged, 8);
    EXPECT_EQ(seen.lies, init == "zero" ? 8 : 0) << init;
    EXPECT_EQ(seen.journal_zero, init == "write") << init;
  }
  expect_clean();
}

// mke2fs punches out the old contents of a file. Then it zeroes the journal, which allocates the
// journal's blocks again.
TEST_F(MkfsStorage, AnOldFileBecomesSparse) {
  fill_with_junk();
  ASSERT_EQ(make("itable_init=zero", {"-q", "-t", "ext4", "-b", "1024", "-J", "size=16"}).status,
            0);
  expect_clean();
  EXPECT_TRUE(look_at(path_).journal_zero);
  EXPECT_LT(allocated(), 2u << 20);
}

// One request zeroes all tables of a flex group. One sync is needed before the flags are set, and
// one after.
TEST_F(MkfsStorage, NeighboursAreOneRequest) {
  std::ofstream(path_).close();
  fs::resize_file(path_, 256ull << 30);
  const test::LoopDevice loop(path_);
  if (loop.path().empty()) GTEST_SKIP() << "attaching a loop device is not permitted";
  const std::string log = dir_.file("calls");
  const auto made =
      test::run({"strace", "-f", "-o", log, "-e", "trace=ioctl,fdatasync", MKE2FS_LAZY, "-q", "-t",
                 "ext4", "-E", "nodiscard,itable_init=zero", loop.path()});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_LE(count(log, "BLKZEROOUT"), 2048 / 16 + 2);
  EXPECT_LE(count(log, "fdatasync("), 2);
  const auto target = Target::open(loop.path(), Target::Access::read);
  const auto tables = Tables::open(**target, Target::Access::read);
  ASSERT_TRUE(tables.ok());
  EXPECT_EQ((*tables)->tables().size(), 2048u);
  for (const Table& table : (*tables)->tables()) EXPECT_TRUE(table.zeroed) << table.group;
}

TEST_F(MkfsStorage, AtAnOffset) {
  fill_with_junk();
  const auto made = lazy({"-q", "-F", "-t", "ext4", "-b", "1024", "-E", "offset=1048576", "-E",
                          "itable_init=zero,nodiscard", path_, "60M"});
  ASSERT_EQ(made.status, 0) << made.err;
  const std::string place = path_ + "?offset=1048576";
  EXPECT_EQ(test::run({"e2fsck", "-fn", place}).status, 0);
  const Seen seen = look_at(place);
  EXPECT_EQ(seen.flagged, 8);
  EXPECT_EQ(seen.nonzero, 0);
  EXPECT_TRUE(seen.journal_zero);
  std::ifstream file(path_, std::ios::binary);
  file.seekg(1024 + 56);
  EXPECT_NE(file.get(), 0x53) << "nothing at the start";
}

TEST_F(MkfsStorage, WithMultipleMountProtection) {
  fill_with_junk();
  ASSERT_EQ(
      make("nodiscard,itable_init=zero", {"-q", "-t", "ext4", "-b", "1024", "-O", "mmp"}).status,
      0);
  expect_clean();
  EXPECT_EQ(look_at(path_).flagged, 8);
  EXPECT_NE(test::run({"debugfs", "-R", "dump_mmp", path_}).out.find("sequence: ff4d4d50"),
            std::string::npos)
      << "clean again";
}

}  // namespace
}  // namespace e4r::lazyinit
