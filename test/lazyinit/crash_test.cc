// SPDX-License-Identifier: GPL-2.0-or-later
// Simulates power failures at any moment of zero_tables() on a real file system whose tables are
// full of old data. Afterwards e2fsck must find no error, every table that is flagged as zero must
// be zero, and another run must finish the work.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "lazyinit/disk.h"
#include "lazyinit/recording_target.h"
#include "lazyinit/tables.h"
#include "lazyinit/zeroer.h"
#include "support/ext2_images.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace e4r::lazyinit {
namespace {

using test::Disk;
using test::load;
using test::RecordingTarget;
using test::seed_of_run;
using test::store;

constexpr std::uint64_t kSize = 12u << 20;
const int kPoints = test::points_of_run(150);

// Fills the device with old data and runs mke2fs, which leaves the old data in the tables.
void make_lazy(const std::string& path, const std::vector<std::string>& options) {
  Rng rng(7);
  Disk junk(kSize);
  std::ranges::generate(junk, [&rng] { return std::byte(rng.next() | 1); });
  store(path, junk);
  std::vector<std::string> argv = {"mke2fs", "-q", "-F", "-E", "nodiscard,lazy_itable_init=1"};
  argv.insert(argv.end(), options.begin(), options.end());
  argv.push_back(path);
  const auto made = test::run(argv);
  ASSERT_EQ(made.status, 0) << made.err;
}

bool is_zero(const Disk& disk, const ByteRange& range) {
  const auto begin = disk.begin() + static_cast<std::ptrdiff_t>(range.offset);
  return std::all_of(begin, begin + static_cast<std::ptrdiff_t>(range.length),
                     [](std::byte b) { return b == std::byte{0}; });
}

std::vector<std::uint32_t> numbers(std::size_t count) {
  std::vector<std::uint32_t> all(count);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

struct Verdict {
  bool readable = true;  // no torn descriptor
  int lies = 0;          // tables that are flagged as zero but are not zero
  int flags = 0;
};

Verdict judge(const Disk& disk) {
  RecordingTarget target(disk);
  const auto tables = Tables::open(target, Target::Access::read);
  if (!tables.ok()) return {.readable = false};
  Verdict verdict;
  for (const Table& table : (*tables)->tables()) {
    verdict.flags += table.zeroed ? 1 : 0;
    verdict.lies += table.zeroed && !is_zero(disk, table.unused_part) ? 1 : 0;
  }
  return verdict;
}

struct Format {
  const char* name;
  std::vector<std::string> options;
};

class Crash : public testing::TestWithParam<Format> {
 protected:
  void SetUp() override {
    make_lazy(path_, GetParam().options);
    before_ = load(path_);
  }

  // Records all operations of a run from start to end.
  std::unique_ptr<RecordingTarget> record(const ZeroOptions& options, bool syncs = true) {
    auto target = std::make_unique<RecordingTarget>(before_);
    if (!syncs) target->forget_syncs();
    const auto tables = Tables::open(*target, Target::Access::write);
    EXPECT_TRUE(tables.ok()) << tables.error().message;
    const auto groups = numbers((*tables)->tables().size());
    const auto outcome = zero_tables(*target, **tables, groups, options);
    EXPECT_TRUE(outcome.ok()) << outcome.error().message;
    EXPECT_EQ(outcome->zeroed, groups.size());
    return target;
  }

  void expect_clean(const std::string& when) {
    const auto fsck = test::run({"e2fsck", "-fn", path_});
    ASSERT_EQ(fsck.status, 0) << when << "\n" << fsck.out << fsck.err;
  }

  // Runs again on the disk after the crash, and expects that every table is then zero and flagged.
  void expect_finishes(const Disk& disk, const std::string& when) {
    RecordingTarget target(disk);
    const auto tables = Tables::open(target, Target::Access::write);
    ASSERT_TRUE(tables.ok()) << when << ": " << tables.error().message;
    const auto groups = numbers((*tables)->tables().size());
    const auto outcome = zero_tables(target, **tables, groups, {});
    ASSERT_TRUE(outcome.ok()) << when << ": " << outcome.error().message;
    const Verdict verdict = judge(target.bytes());
    EXPECT_EQ(verdict.flags, static_cast<int>(groups.size())) << when;
    ASSERT_EQ(verdict.lies, 0) << when;
    store(path_, target.bytes());
    expect_clean(when + ", finished");
  }

  // Crashes at random points, and checks the whole file system after each.
  void crash(const RecordingTarget& target, std::uint64_t seed, int points) {
    Rng rng(seed);
    for (int i = 0; i < points; ++i) {
      const std::size_t point = rng.below(target.operations() + 1);
      const std::string when = fmt::format("seed {}, crash {} behind operation {}", seed, i, point);
      const Disk disk = target.after_crash(point, rng);
      const Verdict verdict = judge(disk);
      ASSERT_TRUE(verdict.readable) << when;
      ASSERT_EQ(verdict.lies, 0) << when;
      store(path_, disk);
      ASSERT_NO_FATAL_FAILURE(expect_clean(when));
      if (i % 10 != 0) continue;
      ASSERT_NO_FATAL_FAILURE(expect_finishes(disk, when));
    }
  }

  test::TempDir dir_;
  const std::string path_ = dir_.file("fs");
  Disk before_;
};

TEST_P(Crash, LeavesACleanFileSystemWithoutALie) {
  const auto target = record({.sync_every = 300000});
  ASSERT_GT(target->syncs(), 3u) << "there are batches";
  crash(*target, seed_of_run(), kPoints);
}

TEST_P(Crash, WithThreadsToo) {
  const auto target = record({.threads = 4, .sync_every = 200000});
  crash(*target, seed_of_run() + 1, kPoints / 3);
}

// Shows that the test can fail. Without syncs, flags can reach the disk before their tables. Then
// the same crashes leave false flags, and e2fsck does not notice them.
TEST_P(Crash, AFlagBeforeItsTableIsSeen) {
  const auto target = record({.sync_every = 300000}, false);
  Rng rng(seed_of_run());
  constexpr int kEnough = 3;
  int lies = 0;
  for (int i = 0; i < 100 && lies < kEnough; ++i) {
    const Disk disk = target->after_crash(rng.below(target->operations() + 1), rng);
    const Verdict verdict = judge(disk);
    if (!verdict.readable || verdict.lies == 0) continue;
    ++lies;
    store(path_, disk);
    expect_clean("a lie that e2fsck does not see");
  }
  EXPECT_EQ(lies, kEnough);
}

INSTANTIATE_TEST_SUITE_P(Geometries, Crash,
                         testing::Values(Format{"metadata_csum",
                                                {"-t", "ext4", "-b", "1024", "-g", "1024", "-N",
                                                 "12288"}},
                                         Format{"uninit_bg",
                                                {"-t", "ext4", "-O", "^metadata_csum,uninit_bg",
                                                 "-b", "1024", "-g", "1024", "-N", "12288"}},
                                         Format{"no_flex_bg_4k",
                                                {"-t", "ext4", "-O", "^flex_bg,^resize_inode", "-b",
                                                 "4096", "-g", "256", "-N", "6144"}},
                                         Format{"meta_bg",
                                                {"-t", "ext4", "-O", "meta_bg,^resize_inode", "-b",
                                                 "1024", "-g", "1024", "-N", "12288"}}),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace e4r::lazyinit
