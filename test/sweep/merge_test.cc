// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "guest/kernel_file.h"
#include "guest/protocol.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "sweep/lines.h"

namespace e4r::sweep {
namespace {

constexpr const char* kProgram = "e4replay 1";

class MergeTest : public ::testing::Test {
 protected:
  std::string manifest(const PointRange& range) {
    std::vector<CaptureId> ids(plan_.spec.captures.size());
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i].name = plan_.spec.captures[i];
    const auto files = identify_policy_files(plan_.spec);
    EXPECT_TRUE(files.ok());
    return manifest_text(kProgram, plan_, ids, *files, range);
  }
  // Makes a part in which the points `numbers` are finished. Returns its directory.
  std::string part(const std::string& name, const PointRange& range,
                   const std::vector<std::size_t>& numbers, std::uint64_t scanned = 7) {
    std::string where = dir_.file(name);
    auto store = Store::begin(where, manifest(range), plan_, range, true);
    EXPECT_TRUE(store.ok()) << store.error().message;
    for (const std::size_t number : numbers)
      EXPECT_TRUE(store->add(number - 1, made_line(plan_, number - 1, scanned)).ok());
    return where;
  }
  static std::string refusal(const std::vector<std::string>& directories,
                             std::string_view program = kProgram) {
    const auto joined = join(directories, program);
    return joined.ok() ? "none" : joined.error().message;
  }

  test::TempDir dir_;
  Plan plan_ = small_plan();
};

TEST_F(MergeTest, PartsMakeTheWhole) {
  const std::string a = part("a", {1, 2}, {2, 1}), b = part("b", {3, 6}, {6, 3, 4, 5});
  const auto joined = join({b, a}, kProgram);
  ASSERT_TRUE(joined.ok()) << joined.error().message;
  EXPECT_EQ(joined->manifest, manifest(all_of(plan_)));
  EXPECT_EQ(joined->finished.count, 6u);
  EXPECT_EQ(joined->finished.damaged, 0u);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(joined->finished.lines[i], made_line(plan_, i));
  EXPECT_EQ(missing_points(joined->finished.lines), "");
}

TEST_F(MergeTest, NamesWhatIsMissing) {
  const auto joined = join({part("a", {1, 4}, {2}), part("b", {5, 6}, {6})}, kProgram);
  ASSERT_TRUE(joined.ok()) << joined.error().message;
  EXPECT_EQ(missing_points(joined->finished.lines), "1, 3-5");
  EXPECT_EQ(missing_points(Lines(3)), "1-3");
}

TEST_F(MergeTest, PartsMayShareWhatTheyAgreeOn) {
  const std::string a = part("a", {1, 4}, {1, 2, 3, 4}), b = part("b", {3, 6}, {3, 4, 5, 6});
  EXPECT_EQ(refusal({a, b}), "none");
  const std::string c = part("c", {4, 6}, {4}, 8);
  EXPECT_EQ(refusal({a, c}), c + ": its point 4 differs from the same point of an earlier part");
}

TEST_F(MergeTest, RefusesWhatDoesNotBelongTogether) {
  const std::string a = part("a", {1, 4}, {1});
  EXPECT_EQ(refusal({a, dir_.path()}),
            dir_.path() + ": holds no sweep: run its job again, or leave it out");
  EXPECT_EQ(refusal({a}, "e4replay 2"),
            a + "/sweep.json: was made by \"e4replay 1\", but this is e4replay 2");
  PlanSpec spec = plan_.spec;
  spec.policies.pop_back();
  plan_ = *make_plan(std::move(spec));
  const std::string b = part("b", {1, 1}, {1});
  EXPECT_NE(refusal({a, b}).find("belongs to another sweep than " + a), std::string::npos);
}

// If sweep.json is truncated or damaged at any place, merging must either fail with an error or
// still work.
TEST_F(MergeTest, DamagedManifestsAreErrors) {
  const std::string a = part("a", {1, 4}, {1});
  const std::string good = manifest({1, 4});
  for (std::size_t at = 0; at + 2 < good.size(); ++at) {
    std::ofstream(a + "/sweep.json", std::ios::trunc) << good.substr(0, at);
    EXPECT_NE(refusal({a}), "none") << at;
    for (const char byte : {'"', '0', '9', '[', '\0'}) {
      std::string damaged = good;
      damaged[at] = byte;
      std::ofstream(a + "/sweep.json", std::ios::trunc) << damaged;
      (void)refusal({a});
    }
  }
}

TEST(Jobs, SharesAreAllPointsOnce) {
  const Jobs jobs = {"sweep 'x'", "files/extents", "it's", 100, 7};
  const std::string script = slurm_script(jobs);
  EXPECT_NE(script.find("#SBATCH --array=1-7\n"), std::string::npos);
  EXPECT_NE(script.find("'it'\\''s'/part-\"$job\" --resume\n"), std::string::npos) << script;
  // If a job's node is lost, the job must run again, even if the cluster's JobRequeue is off.
  EXPECT_NE(script.find("\n#SBATCH --requeue\n"), std::string::npos);
  const auto from = script.find("first=");
  const std::string sums = script.substr(from, script.find("mkdir") - from);
  const auto shares =
      test::run({"sh", "-c", "for job in 1 2 3 4 5 6 7; do\n" + sums + "echo $first $last\ndone"});
  std::istringstream lines(shares.out);
  std::uint64_t next = 1;
  for (std::uint64_t first = 0, last = 0; lines >> first >> last; next = last + 1) {
    EXPECT_EQ(first, next);
    EXPECT_GE(last - first + 1, 14u);
    EXPECT_LE(last - first + 1, 15u);
  }
  EXPECT_EQ(next, 101u);
}

// A sweep over a kernel's code must notice if the kernel was rebuilt. A merge does not need the
// kernel.
TEST_F(MergeTest, KernelsArePoliciesToo) {
  const std::string path = dir_.file("mine.uml");
  const auto build = [&](std::string_view code) {
    std::ofstream(path) << "\177ELF " << code << "\n"
                        << E4R_IDENTITY << " protocol=" << E4R_PROTOCOL << " release=6.1.9\n";
  };
  build("one");
  PlanSpec spec = plan_.spec;
  spec.policies.push_back(*guest::kernel_policy(path));
  plan_ = *make_plan(std::move(spec));
  const std::string once = manifest(all_of(plan_));
  build("another");
  EXPECT_EQ(same_sweep(once, manifest(all_of(plan_))).error().message,
            "\"kernel:mine.uml\" has changed (release or checksum)");
  std::filesystem::remove(path);
  const auto whole = whole_manifest(once, kProgram);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_EQ(whole->text, once);
  EXPECT_EQ(whole->plan.spec.policies.back(), plan_.spec.policies.back());
  EXPECT_EQ(whole->plan.points.size(), plan_.points.size());
  std::string elsewhere = once;
  elsewhere.replace(elsewhere.find("6.1.9"), 5, "7.3.4");
  const auto other = whole_manifest(elsewhere, kProgram);
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_EQ(other->plan.spec.policies.back()->name, "kernel:mine.uml");
  EXPECT_EQ(other->plan.spec.policies.back()->ladder.size(), 5u);
}

}  // namespace
}  // namespace e4r::sweep
