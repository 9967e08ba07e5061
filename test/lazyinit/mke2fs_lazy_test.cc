// SPDX-License-Identifier: GPL-2.0-or-later
// The program mke2fs-lazy, against what e2fsprogs and the bytes themselves say afterwards.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>
#include <utility>

#include "lazyinit/disk.h"
#include "lazyinit/journal.h"
#include "lazyinit/locked_elsewhere.h"
#include "lazyinit/loop_device.h"
#include "lazyinit/tables.h"
#include "lazyinit/target.h"
#include "support/lazy_images.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "util/fd.h"
#include "util/rng.h"

namespace e4r::lazyinit {
namespace {

using Words = std::vector<std::string>;

test::Outcome lazy(const Words& arguments) {
  Words argv = {MKE2FS_LAZY};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return test::run(argv);
}

test::Outcome stock(const Words& arguments) {
  Words argv = {"mke2fs"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return test::run(argv);
}

struct Seen {
  int groups = 0;
  int flagged = 0;
  int lies = 0;     // flagged, and not zero
  int nonzero = 0;  // unused parts that are not zero
  bool journal_zero = true;
};

Seen look_at(const std::string& path) {
  Seen seen;
  const auto target = Target::open(path, Target::Access::read);
  EXPECT_TRUE(target.ok());
  const auto tables = Tables::open(**target, Target::Access::read);
  EXPECT_TRUE(tables.ok()) << tables.error().message;
  for (const Table& table : (*tables)->tables()) {
    const auto probed = (*target)->probe(table.unused_part.offset, table.unused_part.length);
    const bool zero = probed->content == Content::zeros;
    ++seen.groups;
    seen.flagged += table.zeroed ? 1 : 0;
    seen.lies += table.zeroed && !zero ? 1 : 0;
    seen.nonzero += zero ? 0 : 1;
  }
  const auto journal = journal_ranges(path);
  EXPECT_TRUE(journal.ok());
  for (const ByteRange& range : *journal)
    seen.journal_zero &= (*target)->probe(range.offset, range.length)->content == Content::zeros;
  return seen;
}

class Mke2fsLazy : public testing::Test {
 protected:
  static constexpr std::uint64_t kSize = 64u << 20;

  void fill_with_junk() {
    Rng rng(3);
    std::vector<std::uint64_t> words(kSize / 8);
    for (auto& word : words) word = rng.next() | 1;
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(kSize));
  }
  void expect_clean() {
    const auto fsck = test::run({"e2fsck", "-fn", path_});
    EXPECT_EQ(fsck.status, 0) << fsck.out << fsck.err;
  }
  test::Outcome make(const std::string& keys, const Words& more = {"-t", "ext4", "-b", "1024"}) {
    Words words = more;
    words.insert(words.end(), {"-E", keys, path_});
    return lazy(words);
  }
  [[nodiscard]] std::uint64_t allocated() const {
    struct stat st = {};
    EXPECT_EQ(::stat(path_.c_str(), &st), 0);
    return static_cast<std::uint64_t>(st.st_blocks) * 512;
  }

  test::TempDir dir_;
  const std::string path_ = dir_.file("fs");
};

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
  EXPECT_EQ(refused.err, "mke2fs-lazy: itable_init=quick: give lazy, zero, probe or prezeroed\n");
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

// Debian 12's mke2fs believes anything: tables of old data, marked as zero, and e2fsck is content.
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
  if (loop.path().empty()) GTEST_SKIP() << "no leave to attach a loop device";
  const auto made = lazy({"-q", "-t", "ext4", "-E", "nodiscard,itable_init=zero", loop.path()});
  ASSERT_EQ(made.status, 0) << made.err;
  const Seen seen = look_at(loop.path());
  EXPECT_EQ(seen.flagged, seen.groups);
  EXPECT_EQ(seen.nonzero, 0);
  EXPECT_TRUE(seen.journal_zero);
  EXPECT_EQ(test::run({"e2fsck", "-fn", loop.path()}).status, 0);
}

// mke2fs is not even started.
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
    if (loop.path().empty()) GTEST_SKIP() << "no leave to attach a loop device";
    const auto refused = lazy(make);
    EXPECT_EQ(refused.status, 1);
    EXPECT_NE(refused.err.find(" is in use: " + loop.path() + " shows it"), std::string::npos)
        << refused.err;
  }
  EXPECT_EQ(test::fingerprint(path_), before);
  EXPECT_EQ(lazy(make).status, 0);
  EXPECT_NE(test::fingerprint(path_), before);
}

// A system call of a program, counted from 1 among those of its name.
struct Call {
  std::string name;
  int number;
};

// Those by which tune2fs-lazy finish changes `path` or waits for its disk, of one whole run.
std::vector<Call> changing_calls(const std::string& path, const std::string& log) {
  std::ignore = test::run({"strace", "-o", log, "-e", "trace=fallocate,pwrite64,fdatasync,fsync",
                           TUNE2FS_LAZY, "finish", path});
  std::map<std::string, int> counts;
  std::vector<Call> calls;
  std::ifstream lines(log);
  for (std::string line; std::getline(lines, line);)
    if (const auto end = line.find('('); end != std::string::npos) {
      const std::string name = line.substr(0, end);
      calls.push_back({name, ++counts[name]});
    }
  return calls;
}

// Killed as it enters a system call: e2fsck is content with what is there, no flag lies, and
// tune2fs-lazy finishes it.
TEST_F(Mke2fsLazy, KilledWhileZeroing) {
  fill_with_junk();
  ASSERT_EQ(stock({"-q", "-t", "ext4", "-b", "1024", "-g", "2048", "-N", "65536", "-E",
                   "nodiscard,lazy_itable_init=1", path_})
                .status,
            0);
  const std::string unfinished = dir_.file("unfinished");
  std::filesystem::copy_file(path_, unfinished);
  std::vector<Call> calls = changing_calls(path_, dir_.file("calls"));
  ASSERT_GE(calls.size(), 32u + 1 + 2) << "a range for each group, descriptors, and two flushes";
  const std::uint64_t seed = test::seed_of_run();
  Rng rng(seed);
  for (std::size_t i = calls.size() - 1; i > 0; --i) std::swap(calls[i], calls[rng.below(i + 1)]);
  calls.resize(static_cast<std::size_t>(test::points_of_run(static_cast<int>(calls.size()))));
  for (const auto& [name, number] : calls) {
    SCOPED_TRACE(fmt::format("seed {}, killed in {} {}", seed, name, number));
    std::filesystem::copy_file(unfinished, path_,
                               std::filesystem::copy_options::overwrite_existing);
    const auto killed = test::run({"strace", "-o", "/dev/null", "-e", "trace=" + name, "-e",
                                   fmt::format("inject={}:signal=KILL:when={}", name, number),
                                   TUNE2FS_LAZY, "finish", path_});
    ASSERT_EQ(killed.status, 128 + SIGKILL) << killed.err;
    ASSERT_NO_FATAL_FAILURE(expect_clean());
    ASSERT_EQ(look_at(path_).lies, 0);
    const auto finished = test::run({TUNE2FS_LAZY, "finish", path_});
    ASSERT_EQ(finished.status, 0) << finished.err;
    const Seen seen = look_at(path_);
    ASSERT_EQ(seen.flagged, seen.groups);
    ASSERT_EQ(seen.lies, 0);
  }
}

}  // namespace
}  // namespace e4r::lazyinit
