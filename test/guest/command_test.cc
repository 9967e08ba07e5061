// SPDX-License-Identifier: GPL-2.0-or-later
// Tests commands whose -p names a kernel, with a fake kernel.
#include <gtest/gtest.h>

#include <unistd.h>

#include <boost/json.hpp>
#include <cstdlib>
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
  // Makes a fake kernel. Its file name selects what it does wrong (fake_kernel.cc).
  std::string kernel(const std::string& name) {
    std::filesystem::copy_file(FAKE_KERNEL, dir_.file(name));
    return dir_.file(name);
  }
  static test::Outcome e4replay(std::vector<std::string> words) {
    words.insert(words.begin(), E4REPLAY);
    return test::run(words);
  }
  // Expects that the command fails with one error line that contains the words. Warnings may
  // precede it.
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
      "dies: the kernel failed: it ended at an allocation: EXT4-fs error (device ubda): lost its "
      "way");
  EXPECT_FALSE(std::filesystem::exists(out));
}

// A kernel that prints a warning has failed. The error names the place and the decision.
TEST_F(KernelCommand, AWarningFailsAReplayAndNamesTheDecision) {
  const std::string log = dir_.file("console");
  const test::Outcome done = e4replay(
      {"replay", capture_, "--force", "-p", "kernel:" + kernel("warns"), "--kernel-log", log});
  expect_refused(done,
                 "at fs/ext4/mballoc.c:5571 ext4_mb_new_blocks+0x1a/0x20; called by "
                 "ext4_mb_regular_allocator < ");
  const std::size_t at = done.err.find("(--explain ");
  ASSERT_NE(at, std::string::npos) << done.err;
  const std::string number = done.err.substr(at + 11, done.err.find(')', at) - at - 11);
  const test::Outcome explained =
      e4replay({"replay", capture_, "--force", "-p", "legacy", "--explain", number});
  EXPECT_EQ(explained.status, 0) << explained.err;
  EXPECT_NE(explained.out.find("decision " + number + ":"), std::string::npos) << explained.out;
  const std::string console = *read_file(log);
  EXPECT_NE(console.find("warns <==\n"), std::string::npos) << console;
  EXPECT_NE(console.find("Call Trace:"), std::string::npos) << console;
}

TEST_F(KernelCommand, TheConsoleReplacesNoInput) {
  const std::string good = kernel("good");
  const std::string before = *read_file(good);
  expect_refused(
      e4replay({"replay", capture_, "--force", "-p", "kernel:" + good, "--kernel-log", good}),
      good);
  EXPECT_EQ(*read_file(good), before);
}

// The text, the JSON document and the page show how many decisions depended on guessed inputs.
TEST_F(KernelCommand, GuessesAreCounted) {
  const std::string json = dir_.file("json"), html = dir_.file("html");
  const test::Outcome done = e4replay({"replay", capture_, "--force", "-p",
                                       "kernel:" + kernel("full"), "--json", json, "--html", html});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto document = boost::json::parse(*read_file(json)).as_object();
  const auto& run = document.at("runs").as_array().front().as_object();
  const auto guessed = run.at("guessed_sizes").to_number<std::uint64_t>();
  EXPECT_GT(guessed, 0u);
  EXPECT_LE(guessed, run.at("requests").to_number<std::uint64_t>());
  EXPECT_NE(done.out.find("decided by an unrecorded file size"), std::string::npos) << done.out;
  EXPECT_NE(read_file(html)->find("was open for writing were not recorded for"), std::string::npos);
}

// If a kernel fails during a review, the review is not clean, and it ends with an exit status of
// its own.
TEST_F(KernelCommand, AReviewSaysThatAKernelFailed) {
  const std::string policy = "kernel:" + kernel("warns");
  const test::Outcome done = e4replay({"review", "--force", "--no-progress", "--base", "legacy",
                                       "--with", policy, capture_, "--json", "-"});
  EXPECT_EQ(done.status, 4) << done.err;
  EXPECT_NE(done.err.find("e4replay: kernel:warns failed in 1 of 1 case, and --base did not\n"),
            std::string::npos)
      << done.err;
  const auto document = boost::json::parse(done.out);
  EXPECT_EQ(document.at("worse").at(0).at("key").as_string(), "policy_failed");
}

// The hunt treats a kernel that fails as the worst possible case. It makes the case as small as
// possible, and writes it together with the failure.
TEST_F(KernelCommand, AHuntTakesAKernelThatFailsForTheWorstCase) {
  ::setenv("E4R_GUEST_PATIENCE", "1", 1);
  for (const char* name : {"dies", "hangs"}) {
    const std::string out = dir_.file(std::string(name) + ".e4c");
    const bool hangs = name == std::string("hangs");
    const test::Outcome done =
        e4replay({"hunt", "--base", "legacy", "--with", "kernel:" + kernel(name), "-o", out,
                  "--trials", "8", "--shrink-trials", hangs ? "2" : "60", "--largest", "64M",
                  "--tunables", "", "--no-progress", "--json", "-"});
    EXPECT_EQ(done.status, 4) << done.err;
    const std::string why = hangs ? "it has not answered for 1 s" : "it ended at an allocation";
    EXPECT_NE(done.err.find(why), std::string::npos) << done.err;
    const auto document = boost::json::parse(done.out);
    EXPECT_GT(document.at("trials").at("failed_with").to_number<int>(), 0);
    EXPECT_EQ(document.at("trials").at("failed_base").to_number<int>(), 0);
    for (const auto& objective : {document.at("found"), document.at("case").at("objective"),
                                  document.at("capture").at("objective")}) {
      EXPECT_NE(objective.at("failed").as_string().find(why), std::string::npos) << objective;
      EXPECT_TRUE(objective.at("with").is_null());
    }
    // The capture names the decision that failed, and a replay of the capture fails there.
    const std::string replayed(document.at("capture").at("objective").at("failed").as_string());
    EXPECT_NE(replayed.find("(--explain "), std::string::npos) << replayed;
    expect_refused(e4replay({"replay", out, "-p", "kernel:" + dir_.file(name)}), why);
    if (!hangs) {
      EXPECT_LE(document.at("case").at("operations").as_array().size(), 2u);
    }
  }
  ::unsetenv("E4R_GUEST_PATIENCE");
}

// If the --base kernel fails, the case is not a result about the --with kernel.
TEST_F(KernelCommand, AHuntSaysThatTheBaseFailed) {
  const std::string out = dir_.file("none.e4c");
  const test::Outcome done =
      e4replay({"hunt", "--base", "kernel:" + kernel("dies"), "--with", "legacy", "-o", out,
                "--trials", "4", "--largest", "64M", "--tunables", "", "--no-progress"});
  EXPECT_EQ(done.status, 4) << done.err;
  EXPECT_NE(done.out.find("kernel:dies in 4, which say nothing about the other policy"),
            std::string::npos)
      << done.out;
  EXPECT_NE(done.out.find("nothing in which it is worse"), std::string::npos) << done.out;
  EXPECT_FALSE(std::filesystem::exists(out));
}

// A kernel may answer and write anything. The command must either succeed or report the failure in
// a message.
TEST_F(KernelCommand, NothingThatAKernelSaysDoesHarm) {
  ::setenv("E4R_GUEST_PATIENCE", "1", 1);
  int refused = 0;
  for (int seed = 1; seed <= 12; ++seed)
    for (const char* kind : {"random-", "scribbles-"}) {
      const std::string name = kind + std::to_string(seed);
      const test::Outcome done =
          e4replay({"replay", capture_, "--force", "-p", "kernel:" + kernel(name)});
      EXPECT_LE(done.status, 1) << name << ": " << done.err;
      if (done.status != 1) continue;
      ++refused;
      expect_refused(done, "the kernel failed: ");
    }
  EXPECT_GT(refused, 12);
  ::unsetenv("E4R_GUEST_PATIENCE");
}

// A kernel must end with the program that started it, even if it no longer reads requests.
TEST_F(KernelCommand, ItEndsWithTheProgramThatIsKilled) {
  const std::string deaf = kernel("deaf");
  const auto running = [&] { return test::run({"pgrep", "-f", "^" + deaf}).status == 0; };
  const std::string killed =
      "\"$0\" replay \"$1\" --force -p \"kernel:$2\" & "
      "until pgrep -f \"^$2\" >&2; do sleep 0.01; done; sleep 0.2; kill -9 $!; wait";
  (void)test::run({"sh", "-c", killed, E4REPLAY, capture_, deaf});
  while (running()) ::usleep(10'000);  // if one does not end, the test's time limit ends this
}

TEST_F(KernelCommand, ASweepKeepsThePointsOfWhomItKnows) {
  const std::string out = dir_.file("sweep"), dies = kernel("dies");
  std::vector<std::string> sweep = {
      "sweep", capture_, "--no-progress", "-p", "linux-7.3,kernel:" + dies,
      "-o",    out,      "--threads",     "1"};
  expect_refused(e4replay(sweep), "the kernel failed: it ended at an allocation");
  EXPECT_TRUE(std::filesystem::exists(out + "/sweep.json"));
  std::ofstream(dies, std::ios::app) << "built anew";
  sweep.emplace_back("--resume");
  expect_refused(e4replay(sweep),
                 "\"kernel:dies\" has changed (release or checksum); give another");
}

}  // namespace
}  // namespace e4r
