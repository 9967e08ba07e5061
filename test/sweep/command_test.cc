// SPDX-License-Identifier: GPL-2.0-or-later
// Tests `e4replay sweep` as a process on a bundled capture.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>

#include "report/json_parts.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "util/file.h"

namespace e4r {
namespace {

using Words = std::vector<std::string>;

class SweepCommand : public ::testing::Test {
 protected:
  SweepCommand() { unpack("delalloc-4k-6.12"); }

  // Replaces the image and the trace with the image and the trace of a bundled capture.
  void unpack(const std::string& name) const {
    for (const std::string& file : {trace_, image_}) std::filesystem::remove(file);
    const auto done = test::run(
        {E4REPLAY, "trace", "convert", TRACES "/" + name + ".e4c", trace_, "--image", image_});
    EXPECT_EQ(done.status, 0) << done.err;
  }

  static test::Outcome shell(const std::string& script) { return test::run({"sh", "-c", script}); }
  [[nodiscard]] std::string capture() const { return image_ + ":" + trace_; }
  // Returns the command line of a sweep of `count` values under two policies, with `out` as its
  // directory.
  [[nodiscard]] Words sweep(const std::string& out, int count, const Words& more = {}) const {
    Words words = {E4REPLAY,
                   "sweep",
                   capture(),
                   "-p",
                   "linux-6.12,legacy",
                   "--set",
                   "mb_max_to_scan=1.." + std::to_string(count / 2),
                   "-o",
                   dir_.file(out)};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  [[nodiscard]] std::string text(const std::string& out, const std::string& name) const {
    const auto read = read_file(dir_.file(out) + "/" + name);
    EXPECT_TRUE(read.ok()) << read.error().message;
    return read.ok() ? *read : std::string();
  }
  void expect_same(const std::string& a, const std::string& b) const {
    for (const char* name :
         {"points.jsonl", "points.csv", "summary.json", "sweep.json", "sweep.sqlite"})
      EXPECT_EQ(text(a, name), text(b, name)) << name;
    EXPECT_FALSE(std::filesystem::exists(dir_.file(b) + "/points.journal"));
  }
  // Runs the command and sends a signal when the journal has three points. Returns the outcome.
  [[nodiscard]] test::Outcome interrupted(const std::string& out, const Words& words,
                                          const std::string& signal) const {
    std::string command;
    for (const std::string& word : words) command += "'" + word + "' ";
    return shell(command +
                 "& pid=$!\n"
                 "until [ \"$(cat " +
                 dir_.file(out) +
                 "/points.journal 2>/dev/null | wc -l)\" -ge 3 ] ||\n"
                 "    [ -e " +
                 dir_.file(out) +
                 "/points.jsonl ]; do sleep 0.01; done\n"
                 "kill -" +
                 signal + " $pid; wait $pid; exit $?");
  }

  test::TempDir dir_;
  std::string image_ = dir_.file("delalloc-4k.img");
  std::string trace_ = dir_.file("t.e4t.zst");
};

TEST_F(SweepCommand, ThreadsMakeNoDifference) {
  const auto one = test::run(sweep("one", 12, {"--threads", "1"}));
  ASSERT_EQ(one.status, 0) << one.err;
  const auto two = test::run(sweep("two", 12, {"--threads", "2"}));
  ASSERT_EQ(two.status, 0) << two.err;
  EXPECT_EQ(one.out, two.out);
  expect_same("one", "two");
  const std::string lines = text("one", "points.jsonl");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 12);
  EXPECT_EQ(lines.find("elapsed"), std::string::npos);
}

TEST_F(SweepCommand, EachPointIsAReplay) {
  const auto swept = test::run({E4REPLAY, "sweep", capture(), "-p", "linux-6.12,cr1.5", "--set",
                                "mb_order2_req=2,9", "--set", "mb_cr1_5_max_trim_order=0..1", "-o",
                                dir_.file("out")});
  ASSERT_EQ(swept.status, 0) << swept.err;
  std::istringstream lines(text("out", "points.jsonl"));
  int points = 0;
  for (std::string line; std::getline(lines, line); ++points) {
    const boost::json::object point = boost::json::parse(line).get_object();
    Words words = {E4REPLAY, "replay", image_, trace_,
                   "--json", "-",      "-p",   std::string(point.at("policy").get_string())};
    for (const auto& [name, value] : point.at("tunables").get_object()) {
      words.emplace_back("--set");
      words.push_back(std::string(name) + "=" + boost::json::serialize(value));
    }
    const auto replayed = test::run(words);
    ASSERT_EQ(replayed.status, 0) << replayed.err;
    const boost::json::value document = boost::json::parse(replayed.out);
    const auto& run = document.at("runs").at(0).get_object();
    int compared = 0;
    for (const results::Row& row : results::rows()) {
      const auto* const of_point = report::find_at(point, row.key);
      const auto* const of_run = report::find_at(run, row.key);
      ASSERT_EQ(of_point == nullptr, of_run == nullptr) << row.key;
      if (of_run == nullptr) continue;
      EXPECT_EQ(boost::json::serialize(*of_point), boost::json::serialize(*of_run)) << row.key;
      ++compared;
    }
    EXPECT_GT(compared, 30);
  }
  EXPECT_EQ(points, 6);
}

TEST_F(SweepCommand, AnE4cAnswersAsItsImageAndTraceDo) {
  const std::string packed = dir_.file("t.e4c");
  const auto made = test::run({E4REPLAY, "trace", "convert", trace_, packed, "--image", image_});
  ASSERT_EQ(made.status, 0) << made.err;
  const auto swept = test::run({E4REPLAY, "sweep", packed, capture(), "-p", "linux-6.12,legacy",
                                "--set", "mb_max_to_scan=3,200", "--where",
                                "policy == legacy || mb_max_to_scan > 3", "-o", dir_.file("out")});
  ASSERT_EQ(swept.status, 0) << swept.err;
  std::vector<std::string> figures;
  std::istringstream lines(text("out", "points.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto from = line.find("\"policy\"");
    figures.push_back(line.substr(from, line.find("\"crc\"") - from));
  }
  ASSERT_EQ(figures.size(), 6u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(figures[i], figures[i + 3]) << i;
  EXPECT_NE(figures[1], figures[2]);
}

// A killed sweep resumes like a stopped one: finished points are not repeated, and the result is
// the same.
TEST_F(SweepCommand, ResumeAfterAKillEndsTheSame) {
  constexpr int kPoints = 40;
  ASSERT_EQ(test::run(sweep("whole", kPoints)).status, 0);
  int status = 0;
  for (int attempt = 0; attempt < 5 && status != 137; ++attempt) {
    std::filesystem::remove_all(dir_.file("killed"));
    status = interrupted("killed", sweep("killed", kPoints, {"--threads", "1"}), "KILL").status;
  }
  ASSERT_EQ(status, 137) << "it always ended before the signal";
  EXPECT_FALSE(std::filesystem::exists(dir_.file("killed") + "/points.jsonl"));
  const auto refused = test::run(sweep("killed", kPoints));
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("--resume"), std::string::npos) << refused.err;
  std::ofstream(dir_.file("killed") + "/points.journal", std::ios::app) << "{\"point\":9,\"capt";
  const auto resumed = test::run(sweep("killed", kPoints, {"--resume"}));
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_NE(resumed.err.find(" of 40 points"), std::string::npos) << resumed.err;
  EXPECT_NE(resumed.err.find("damaged or truncated lines: 1;"), std::string::npos) << resumed.err;
  expect_same("whole", "killed");
  const auto again = test::run(sweep("killed", kPoints, {"--resume"}));
  EXPECT_EQ(again.status, 0);
  EXPECT_EQ(again.err, dir_.file("killed") + ": contains 40 of 40 points\n");
  expect_same("whole", "killed");
}

TEST_F(SweepCommand, ASignalStopsItAndSaysHowToGoOn) {
  constexpr int kPoints = 40;
  test::Outcome stopped;
  for (int attempt = 0; attempt < 5 && stopped.status != 130; ++attempt) {
    std::filesystem::remove_all(dir_.file("out"));
    stopped = interrupted("out", sweep("out", kPoints, {"--threads", "1"}), "TERM");
  }
  ASSERT_EQ(stopped.status, 130) << stopped.err;
  EXPECT_NE(stopped.err.find("of 40 points left; continue with the same command and --resume"),
            std::string::npos)
      << stopped.err;
  const std::string journal = text("out", "points.journal");
  EXPECT_EQ(journal.back(), '\n');
  ASSERT_EQ(test::run(sweep("out", kPoints, {"--resume"})).status, 0);
  ASSERT_EQ(test::run(sweep("whole", kPoints)).status, 0);
  expect_same("whole", "out");
}

// Runs the jobs as a batch system does, one of them twice. Then runs them with a replacement for
// GNU parallel.
TEST_F(SweepCommand, JobsEndAsOneRunDoes) {
  const Words best = {"--best", "files/extents"};
  ASSERT_EQ(test::run(sweep("whole", 6, best)).status, 0);
  const std::string env = "cd " + dir_.path() + " && export E4REPLAY=" E4REPLAY " && ";
  const auto script = [&](const std::string& kind) {
    const auto made = test::run(
        sweep("parts-" + kind, 6, {"--emit", kind, "--jobs", "3", "--best", "files/extents"}));
    EXPECT_EQ(made.status, 0) << made.err;
    std::ofstream(dir_.file(kind + ".sh")) << made.out;
  };
  script("slurm");
  const auto merge = [&] {
    return shell(env + "$E4REPLAY sweep --merge parts-slurm/part-* -o joined --best files/extents");
  };
  for (const char* job : {"1", "3", "1"}) {
    const auto ran = shell(env + "SLURM_ARRAY_TASK_ID=" + job + " sh slurm.sh");
    ASSERT_EQ(ran.status, 0) << ran.err;
  }
  const auto early = merge();
  EXPECT_EQ(early.status, 1);
  EXPECT_EQ(early.err, "e4replay: 2 of 6 points are missing: 3-4; run their jobs again\n");
  EXPECT_FALSE(std::filesystem::exists(dir_.file("joined")));
  ASSERT_EQ(shell(env + "SLURM_ARRAY_TASK_ID=2 sh slurm.sh").status, 0);
  const auto merged = merge();
  ASSERT_EQ(merged.status, 0) << merged.err;
  expect_same("whole", "joined");
  EXPECT_EQ(text("parts-slurm", "log-2"), test::run(sweep("part", 6, {"--points", "3-4"})).out);

  script("parallel");
  std::filesystem::create_directory(dir_.file("bin"));
  std::ofstream(dir_.file("bin/parallel"))
      << "#!/bin/sh\n[ \"$1\" = -q ] && shift || exit 9\nwhile read -r job; do \"$@\" $job; done\n";
  std::filesystem::permissions(dir_.file("bin/parallel"), std::filesystem::perms::owner_all);
  const auto ran = shell(env + "PATH=$PWD/bin:$PATH sh parallel.sh");
  ASSERT_EQ(ran.status, 0) << ran.err;
  expect_same("whole", "parts-parallel/all");
}

// If a user runs the emitted script by hand, it merges the results of its jobs, or reports which
// results are missing. It can be run again, even after it was killed during the merge.
TEST_F(SweepCommand, TheSlurmScriptByHandJoinsTheParts) {
  ASSERT_EQ(test::run(sweep("whole", 6)).status, 0);
  std::ofstream(dir_.file("job.sh"))
      << test::run(sweep("it's", 6, {"--emit", "slurm", "--jobs", "2"})).out;
  const auto script = [this](const std::string& task) {
    return shell("export E4REPLAY=" E4REPLAY " " + task + "; sh " + dir_.file("job.sh"));
  };
  ASSERT_EQ(script("SLURM_ARRAY_TASK_ID=2").status, 0);
  const auto early = script("");
  EXPECT_EQ(early.status, 1);
  EXPECT_EQ(early.err, "e4replay: 3 of 6 points are missing: 1-3; run their jobs again\n");
  ASSERT_EQ(script("SLURM_ARRAY_TASK_ID=1").status, 0);
  for (int turn = 0; turn < 2; ++turn) {
    const auto joined = script("");
    ASSERT_EQ(joined.status, 0) << joined.err;
    expect_same("whole", "it's/all");
  }
  const std::string lines = text("whole", "points.jsonl");
  std::ofstream(dir_.file("it's/all/points.journal")) << lines.substr(0, lines.size() / 2);
  for (const char* name : {"points.jsonl", "points.csv", "sweep.sqlite", "summary.json"})
    std::filesystem::remove(dir_.file("it's/all/") + name);
  const auto joined = script("");
  ASSERT_EQ(joined.status, 0) << joined.err;
  expect_same("whole", "it's/all");
}

TEST_F(SweepCommand, ACaptureThatHasChangedIsRefused) {
  ASSERT_EQ(test::run(sweep("out", 4)).status, 0);
  const auto refusal = [this] {
    const auto outcome = test::run(sweep("out", 4, {"--resume"}));
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    return outcome.err;
  };
  const std::string points = text("out", "points.jsonl");
  std::ofstream(dir_.file("t.tunables"), std::ios::app) << "mb_order2_req:5\n";
  EXPECT_NE(refusal().find("has changed"), std::string::npos);
  unpack("delalloc-4k-6.12");
  EXPECT_EQ(test::run(sweep("out", 4, {"--resume"})).status, 0);
  unpack("delalloc-4k-7.3");
  EXPECT_NE(refusal().find("has changed"), std::string::npos);
  EXPECT_EQ(text("out", "points.jsonl"), points);
}

TEST_F(SweepCommand, WhatTheModelDoesNotFollowIsRefusedUnlessForced) {
  // This image is from after the trace: it has blocks in use that the trace allocates.
  const auto made = test::run({E4REPLAY, "replay", image_, trace_, "-p", "legacy", "--write-image",
                               dir_.file("later.img")});
  ASSERT_EQ(made.status, 0) << made.err;
  image_ = dir_.file("later.img");
  const auto replayed = test::run({E4REPLAY, "replay", image_, trace_});
  const auto refused = test::run(sweep("out", 4));
  ASSERT_EQ(refused.status, 1) << refused.out;
  EXPECT_EQ(refused.err, replayed.err) << "in the words of replay";
  EXPECT_NE(refused.err.find("--force"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(dir_.file("out"))) << "nothing was written";
  EXPECT_EQ(test::run(sweep("out", 4, {"--force"})).status, 0);
}

}  // namespace
}  // namespace e4r
