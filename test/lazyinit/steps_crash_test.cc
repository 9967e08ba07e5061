// SPDX-License-Identifier: GPL-2.0-or-later
// Simulates power failures at any moment of enable and disable. Afterwards e2fsck must find nothing
// to repair, and repeating the steps must give the same result.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "lazyinit/disk.h"
#include "lazyinit/features.h"
#include "lazyinit/recording_target.h"
#include "lazyinit/tables.h"
#include "lazyinit/zeroer.h"
#include "support/ext2_images.h"
#include "support/lazy_images.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace e4r::lazyinit {
namespace {

using test::Disk;
using test::load;
using test::RecordingTarget;
using test::seed_of_run;
using test::store;

const int kPoints = test::points_of_run(80);

Status take_enable(Target& target) {
  E4R_CHECK(add_group_checksums(target));
  E4R_TRY(const Enabled enabled, record_unused(target, false));
  return enabled.unused_inodes != 0 ? Status() : error("nothing was counted as unused");
}

Status take_disable(Target& target) {
  E4R_TRY(const auto tables, Tables::open(target, Target::Access::write));
  if (tables->has_group_checksums()) {
    std::vector<std::uint32_t> groups(tables->tables().size());
    std::iota(groups.begin(), groups.end(), 0u);
    const auto zeroed = zero_tables(target, *tables, groups, {});
    if (!zeroed.ok()) return zeroed.error();
    const auto slack = zero_slack(target, *tables);
    if (!slack.ok()) return slack.error();
    E4R_CHECK(write_out_groups(target));
  }
  return drop_group_checksums(target);
}

struct Case {
  const char* name;
  std::vector<std::string> options;
  Status (*steps)(Target& target);
  bool fill;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

class StepsCrash : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    test::Shape shape{"small", 12u << 20, {"-t", "ext4", "-b", "1024", "-g", "1024"}};
    shape.options.insert(shape.options.end(), GetParam().options.begin(), GetParam().options.end());
    test::make_lazy_image(path_, shape);
    if (GetParam().fill) test::fill_unused(path_, test::FillFrom::first_unused_inode);
  }

  void expect_clean(const Disk& disk) {
    store(path_, disk);
    const auto fsck = test::fsck(path_);
    EXPECT_EQ(fsck.status, 0) << fsck.text;
  }

  test::TempDir dir_;
  std::string path_ = dir_.file("image");
};

TEST_P(StepsCrash, LeavesNothingToRepairAndCanBeTakenAgain) {
  const std::uint64_t seed = seed_of_run();
  RecordProperty("seed", std::to_string(seed));
  Rng rng(seed);
  const Disk start = load(path_);
  RecordingTarget whole(start);
  const Status done = GetParam().steps(whole);
  ASSERT_TRUE(done.ok()) << done.error().message;
  expect_clean(whole.bytes());
  ASSERT_GT(whole.operations(), 10u);
  for (int point = 0; point < kPoints; ++point) {
    const std::size_t operations = rng.below(whole.operations() + 1);
    SCOPED_TRACE(fmt::format("seed {}, power fails after {} of {} operations", seed, operations,
                             whole.operations()));
    const Disk disk = whole.after_crash(operations, rng);
    expect_clean(disk);
    RecordingTarget again(disk);
    const Status repeated = GetParam().steps(again);
    ASSERT_TRUE(repeated.ok()) << repeated.error().message;
    expect_clean(again.bytes());
    if (HasFailure()) return;
  }
}

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {"enable", {"-O", "^has_journal,^metadata_csum,^uninit_bg"}, take_enable, false},
      {"enable_no_flex",
       {"-O", "^has_journal,^metadata_csum,^uninit_bg,^flex_bg"},
       take_enable,
       false},
      {"disable", {"-O", "^has_journal,^metadata_csum,uninit_bg"}, take_disable, true},
      {"disable_no_flex",
       {"-O", "^has_journal,^metadata_csum,uninit_bg,^flex_bg"},
       take_disable,
       true},
  };
  return kCases;
}

INSTANTIATE_TEST_SUITE_P(Steps, StepsCrash, testing::ValuesIn(cases()),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace e4r::lazyinit
