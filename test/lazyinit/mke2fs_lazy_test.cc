// SPDX-License-Identifier: GPL-2.0-or-later
// Checks the file systems that mke2fs-lazy makes. Uses the programs of e2fsprogs, and compares
// bytes on the disk.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lazyinit/locked_elsewhere.h"
#include "lazyinit/loop_device.h"
#include "lazyinit/mkfs_case.h"
#include "lazyinit/tables.h"
#include "lazyinit/target.h"
#include "support/lazy_images.h"
#include "support/process.h"
#include "support/raw_file.h"
#include "support/temp_dir.h"
#include "util/fd.h"
#include "util/rng.h"

namespace e4r::lazyinit {
namespace {

class Mke2fsLazy : public MkfsTest {};

TEST_F(Mke2fsLazy, WithoutKeysItIsMke2fs) {
  const Words words = {"-t",  "ext4",
                       "-U",  "01234567-0123-0123-0123-0123456789ab",
                       "-E",  "hash_seed=01234567-0123-0123-0123-0123456789ab",
                       path_, "32M"};
  const auto ours = lazy(words);
  const std::string dump = test::run({"dumpe2fs", path_}).out;
  std::filesystem::remove(path_);
  const auto theirs = stock(words);
  EXPECT_EQ(ours.status, theirs.status);
  EXPECT_EQ(ours.out, theirs.out);
  EXPECT_EQ(ours.err, theirs.err);
  const auto groups = [](const std::string& text) { return text.substr(text.find("Group 0")); };
  EXPECT_EQ(groups(dump), groups(test::run({"dumpe2fs", path_}).out));
}

TEST_F(Mke2fsLazy, Mke2fssFailuresAreItsOwn) {
  for (const Words& words : {Words{}, Words{"-E"}, Words{"-t", "ext4", dir_.file("none/x"), "1M"},
                             Words{"-b", "3", path_}, Words{"-E", "nonsense", path_, "1M"}}) {
    const auto ours = lazy(words);
    std::filesystem::remove(path_);
    const auto theirs = stock(words);
    std::filesystem::remove(path_);
    EXPECT_EQ(ours.status, theirs.status);
    EXPECT_EQ(ours.out, theirs.out);
    EXPECT_EQ(ours.err, theirs.err);
  }
  const auto failed = lazy({"-E", "itable_init=zero,nonsense", path_, "1M"});
  EXPECT_EQ(failed.status, 1);
  EXPECT_NE(failed.err.find("nonsense"), std::string::npos);
  EXPECT_EQ(failed.out.find("mke2fs-lazy"), std::string::npos) << "no summary of nothing";
}

TEST_F(Mke2fsLazy, AWrongKeyStopsBeforeMke2fsStarts) {
  fill_with_junk();
  const auto before = std::filesystem::last_write_time(path_);
  const auto refused = make("itable_init=quick");
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(
      refused.err,
      "mke2fs-lazy: itable_init=quick: give lazy, zero, discard, write, probe or prezeroed\n");
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(std::filesystem::last_write_time(path_), before);
}

TEST_F(Mke2fsLazy, LazyMarksNothing) {
  for (const std::string keys : {"itable_init=lazy", "nodiscard,itable_init=lazy"}) {
    fill_with_junk();
    ASSERT_EQ(make(keys).status, 0);
    expect_clean();
    const Seen seen = look_at(path_);
    EXPECT_EQ(seen.groups, 8);
    EXPECT_EQ(seen.flagged, 0);
    EXPECT_TRUE(seen.journal_zero) << "that cannot wait";
  }
}

TEST_F(Mke2fsLazy, ZeroAndProbeTellTheTruthOnOldData) {
  for (const std::string keys : {"nodiscard,itable_init=zero", "nodiscard,itable_init=probe",
                                 "itable_threads=4,nodiscard,itable_init=zero"}) {
    fill_with_junk();
    const auto made = make(keys);
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_NE(made.out.find("mke2fs-lazy: 8 groups: 8 tables zeroed, 0 found zero, 0 lazy"),
              std::string::npos)
        << made.out;
    expect_clean();
    const Seen seen = look_at(path_);
    EXPECT_EQ(seen.flagged, 8);
    EXPECT_EQ(seen.nonzero, 0);
    EXPECT_TRUE(seen.journal_zero);
  }
}

TEST_F(Mke2fsLazy, DiscardGivesBlocksBack) {
  fill_with_junk();
  const auto made = make("nodiscard,itable_init=discard");
  ASSERT_EQ(made.status, 0) << made.err;
  // Debian's mke2fs has no option itable_init, so mke2fs-lazy does the work itself.
  EXPECT_NE(made.out.find("mke2fs-lazy: done by mke2fs-lazy\n"), std::string::npos) << made.out;
  expect_clean();
  const Seen seen = look_at(path_);
  EXPECT_EQ(seen.flagged, 8);
  EXPECT_EQ(seen.nonzero, 0);
  EXPECT_TRUE(seen.journal_zero);
  constexpr std::uint64_t kTablesAndJournal = 8u << 20;
  EXPECT_LT(allocated(), kSize - kTablesAndJournal + (1u << 20)) << "tables and journal are holes";
}

// mke2fs zeroes the table blocks of the first inodes, and then copies files. So old data can follow
// the inodes of these files in the table.
TEST_F(Mke2fsLazy, UnusedInodesBesideUsedOnesAreZero) {
  fill_with_junk();
  const std::string root = dir_.file("root");
  std::filesystem::create_directory(root);
  for (const char* name : {"/one", "/two"}) std::ofstream(root + name) << name;
  const auto made = make("nodiscard,itable_init=zero", {"-t", "ext4", "-b", "1024", "-d", root});
  ASSERT_EQ(made.status, 0) << made.err;
  int seen = 0;
  for (const test::ReferenceGroup& group : test::reference_groups(path_)) {
    const auto slack =
        test::read_at(path_, group.table + group.used_bytes, group.used_part - group.used_bytes);
    seen += slack.empty() ? 0 : 1;
    EXPECT_TRUE(std::ranges::all_of(slack, [](unsigned char byte) { return byte == 0; }));
  }
  EXPECT_EQ(seen, 1) << "the shape has a block that is used in part";
}

// The copies of the descriptors must have the same flags as the primary descriptors.
TEST_F(Mke2fsLazy, CopiesHaveTheSameFlags) {
  const auto expect_same = [this](const std::string& keys) {
    fill_with_junk();
    const auto made = make(keys);
    ASSERT_EQ(made.status, 0) << made.err;
    const auto groups = test::reference_groups(path_);
    const auto copies = test::reference_descriptor_copies(path_);
    EXPECT_FALSE(copies.empty());
    for (const test::DescriptorCopy& copy : copies)
      for (std::size_t i = 0; i < copy.flags.size(); ++i)
        EXPECT_EQ(copy.flags[i], groups[copy.first_group + i].flags) << keys << " " << i;
  };
  // Here mke2fs first discards the device, and then sets all flags in the copies.
  expect_same("itable_init=lazy");
  expect_same("nodiscard,itable_init=zero");
}

TEST_F(Mke2fsLazy, ProbeWritesOnlyTheTablesThatAreNotZero) {
  fill_with_junk();
  ASSERT_EQ(make("nodiscard,itable_init=zero").status, 0);
  const auto target = Target::open(path_, Target::Access::write);
  {
    const auto tables = Tables::open(**target, Target::Access::read);
    const std::vector<std::byte> junk(3, std::byte{1});
    for (const std::uint32_t group : {2u, 5u})
      ASSERT_TRUE(
          (*target)->write((*tables)->tables()[group].unused_part.offset + 99999, junk).ok());
  }
  const auto made = make("nodiscard,itable_init=probe");
  EXPECT_NE(made.out.find("2 tables zeroed, 6 found zero, 0 lazy"), std::string::npos) << made.out;
  EXPECT_EQ(look_at(path_).nonzero, 0);
  expect_clean();
}

// If an option says that the storage is zeroed, Debian 12's mke2fs does not check this. It flags
// tables with old data as zero, and e2fsck accepts this.
TEST_F(Mke2fsLazy, StockBelievesWhatPrezeroedRefuses) {
  fill_with_junk();
  ASSERT_EQ(
      stock({"-q", "-t", "ext4", "-b", "1024", "-E", "nodiscard,assume_storage_prezeroed=1", path_})
          .status,
      0);
  const Seen lie = look_at(path_);
  EXPECT_EQ(lie.flagged, 8);
  EXPECT_EQ(lie.lies, 8);
  EXPECT_FALSE(lie.journal_zero);
  expect_clean();

  for (const std::string verify : {"sample", "full"}) {
    fill_with_junk();
    const auto refused = make("nodiscard,itable_init=prezeroed,verify=" + verify, {"-qtext4"});
    EXPECT_EQ(refused.status, 1);
    EXPECT_NE(refused.err.find("is not prezeroed: byte "), std::string::npos) << refused.err;
    expect_clean();
    const Seen seen = look_at(path_);
    EXPECT_EQ(seen.flagged, 0);
    EXPECT_TRUE(seen.journal_zero);
  }
}

TEST_F(Mke2fsLazy, PrezeroedBelievesZeros) {
  std::ofstream(path_).close();
  std::filesystem::resize_file(path_, kSize);
  for (const std::string verify : {"sample", "full"}) {
    const auto made = make("nodiscard,itable_init=prezeroed,verify=" + verify);
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(look_at(path_).flagged, 8);
    expect_clean();
  }
}

TEST_F(Mke2fsLazy, FullVerificationFindsOneByte) {
  std::ofstream(path_).close();
  std::filesystem::resize_file(path_, kSize);
  ASSERT_EQ(make("itable_init=lazy").status, 0);
  std::uint64_t at = 0;
  {
    const auto target = Target::open(path_, Target::Access::write);
    const auto tables = Tables::open(**target, Target::Access::read);
    at = (*tables)->tables()[6].unused_part.offset + 70001;
    const std::vector<std::byte> one(1, std::byte{1});
    ASSERT_TRUE((*target)->write(at, one).ok());
  }
  const auto refused = make("nodiscard,itable_init=prezeroed,verify=full");
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(refused.err.substr(refused.err.find("mke2fs-lazy")),
            "mke2fs-lazy: " + path_ + " is not prezeroed: byte " + std::to_string(at) +
                ", in the inode table of group 6, is not zero; no table is marked, the kernel or "
                "tune2fs-lazy finish will zero them\n");
}

TEST_F(Mke2fsLazy, ASparseFileStaysSparse) {
  const std::string big = dir_.file("big");
  ASSERT_EQ(stock({"-q", "-t", "ext4", "-E", "assume_storage_prezeroed=1", big, "64G"}).status, 0);
  struct stat st = {};
  ASSERT_EQ(::stat(big.c_str(), &st), 0);
  const auto prezeroed = static_cast<std::uint64_t>(st.st_blocks) * 512;
  for (const std::string init : {"lazy", "zero", "probe", "prezeroed"}) {
    std::filesystem::remove(path_);
    ASSERT_EQ(lazy({"-q", "-t", "ext4", "-E", "itable_init=" + init, path_, "64G"}).status, 0);
    EXPECT_LE(allocated(), prezeroed) << init;
    expect_clean();
  }
}

TEST_F(Mke2fsLazy, MountOptionsReachTheSuperblock) {
  const auto made = make("init_itable=30", {"-t", "ext4"});
  EXPECT_EQ(made.status, 1) << "no size: mke2fs refuses";
  ASSERT_EQ(lazy({"-q", "-t", "ext4", "-E", "init_itable=30", path_, "32M"}).status, 0);
  EXPECT_NE(test::run({"dumpe2fs", "-h", path_}).out.find("init_itable=30"), std::string::npos);
  expect_clean();
}

TEST_F(Mke2fsLazy, WithoutChecksumsItSaysSo) {
  fill_with_junk();
  const auto zero = make("nodiscard,itable_init=zero", {"-t", "ext2"});
  EXPECT_EQ(zero.status, 0);
  EXPECT_NE(zero.out.find("neither metadata_csum nor uninit_bg"), std::string::npos) << zero.out;
  const auto none = make("nodiscard,itable_init=lazy", {"-F", "-t", "ext3"});
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.err.find("neither metadata_csum nor uninit_bg"), std::string::npos) << none.err;
  expect_clean();
}

TEST_F(Mke2fsLazy, ADryRunMakesNothing) {
  fill_with_junk();
  const auto before = std::filesystem::last_write_time(path_);
  const auto dry = make("itable_init=zero", {"-n", "-t", "ext4"});
  EXPECT_EQ(dry.status, 0);
  EXPECT_NE(dry.out.find("mke2fs-lazy: -n: nothing was made"), std::string::npos);
  EXPECT_EQ(std::filesystem::last_write_time(path_), before);
}

TEST_F(Mke2fsLazy, QuietIsQuiet) {
  const auto made = lazy({"-q", "-t", "ext4", "-E", "itable_init=probe", path_, "32M"});
  EXPECT_EQ(made.status, 0);
  EXPECT_EQ(made.out.find("mke2fs-lazy"), std::string::npos);
}

TEST_F(Mke2fsLazy, OnADeviceWithOldData) {
  fill_with_junk();
  const test::LoopDevice loop(path_);
  if (loop.path().empty()) GTEST_SKIP() << "attaching a loop device is not permitted";
  const auto made = lazy({"-q", "-t", "ext4", "-E", "nodiscard,itable_init=zero", loop.path()});
  ASSERT_EQ(made.status, 0) << made.err;
  const Seen seen = look_at(loop.path());
  EXPECT_EQ(seen.flagged, seen.groups);
  EXPECT_EQ(seen.nonzero, 0);
  EXPECT_TRUE(seen.journal_zero);
  EXPECT_EQ(test::run({"e2fsck", "-fn", loop.path()}).status, 0);
}

// If the image is in use, mke2fs-lazy must not even start mke2fs.
TEST_F(Mke2fsLazy, WhatIsInUseIsLeftAlone) {
  const Words make = {"-q", "-F", "-t", "ext4", "-E", "itable_init=zero", path_};
  ASSERT_EQ(lazy({"-q", "-t", "ext4", "-E", "itable_init=zero", path_, "32M"}).status, 0);
  const std::uint64_t before = test::fingerprint(path_);
  {
    const test::LockedElsewhere holder(path_, test::LockedElsewhere::As::flock);
    const auto refused = lazy(make);
    EXPECT_EQ(refused.status, 1);
    EXPECT_EQ(refused.out, "");
    EXPECT_NE(refused.err.find(fmt::format(" is in use: process {} (", holder.pid())),
              std::string::npos)
        << refused.err;
  }
  {
    const test::LoopDevice loop(path_);
    if (loop.path().empty()) GTEST_SKIP() << "attaching a loop device is not permitted";
    const auto refused = lazy(make);
    EXPECT_EQ(refused.status, 1);
    EXPECT_NE(refused.err.find(" is in use by the loop device " + loop.path()), std::string::npos)
        << refused.err;
  }
  EXPECT_EQ(test::fingerprint(path_), before);
  EXPECT_EQ(lazy(make).status, 0);
  EXPECT_NE(test::fingerprint(path_), before);
}

}  // namespace
}  // namespace e4r::lazyinit
