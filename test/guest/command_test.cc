// SPDX-License-Identifier: GPL-2.0-or-later
// Commands whose -p names a kernel, with one that stands in for it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/process.h"
#include "support/temp_dir.h"
#include "util/file.h"

namespace e4r {
namespace {

class KernelCommand : public testing::Test {
 protected:
  // A kernel whose file has that name, which says what it does wrong (fake_kernel.cc).
  std::string kernel(const std::string& name) {
    std::filesystem::copy_file(FAKE_KERNEL, dir_.file(name));
    return dir_.file(name);
  }
  static test::Outcome e4replay(std::vector<std::string> words) {
    words.insert(words.begin(), E4REPLAY);
    return test::run(words);
  }
  // It fails, and says so in one line that has the words. Warnings may stand before it.
  static void expect_refused(const test::Outcome& done, const std::string& words) {
    EXPECT_EQ(done.status, 1) << done.out;
    std::istringstream lines(done.err);
    std::vector<std::string> errors;
    for (std::string line; std::getline(lines, line);)
      if (line.find("warning: ") == std::string::npos) errors.push_back(line);
    ASSERT_EQ(errors.size(), 1u) << done.err;
    EXPECT_NE(errors.front().find(words), std::string::npos) << done.err;
  }

  test::TempDir dir_;
  const std::string capture_ = TRACES "/cr5-64m.e4c";
};

TEST_F(KernelCommand, NoOutputReplacesTheKernel) {
  const std::string good = kernel("good");
  const std::string before = *read_file(good);
  const std::string policy = "kernel:" + good;
  expect_refused(e4replay({"replay", capture_, "-p", policy, "--json", good}), good);
  expect_refused(e4replay({"verify", capture_, "-p", policy, "--html", good}), good);
  expect_refused(e4replay({"sweep", capture_, "-p", policy, "--html", good}), good);
  expect_refused(e4replay({"age", "64M", "-p", policy, "-o", good}), good);
  EXPECT_EQ(*read_file(good), before);
}

TEST_F(KernelCommand, NothingIsAgedByAKernelThatDies) {
  const std::string out = dir_.file("aged.img");
  expect_refused(
      e4replay({"age", "64M", "--no-progress", "-p", "kernel:" + kernel("dies"), "-o", out}),
      "dies: the kernel ended too early: EXT4-fs error (device ubda): lost its way");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(KernelCommand, ASweepKeepsThePointsOfWhomItKnows) {
  const std::string out = dir_.file("sweep"), dies = kernel("dies");
  std::vector<std::string> sweep = {
      "sweep", capture_, "--no-progress", "-p", "linux-7.3,kernel:" + dies,
      "-o",    out,      "--threads",     "1"};
  expect_refused(e4replay(sweep), "the kernel ended too early");
  EXPECT_TRUE(std::filesystem::exists(out + "/sweep.json"));
  std::ofstream(dies, std::ios::app) << "built anew";
  sweep.emplace_back("--resume");
  expect_refused(e4replay(sweep),
                 "\"kernel:dies\" is no longer what it was (release or checksum); give another");
}

}  // namespace
}  // namespace e4r
