// SPDX-License-Identifier: GPL-2.0-or-later
// Tests the effects of signals on files.
#include "common/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "support/process.h"
#include "support/temp_dir.h"
#include "util/output.h"

namespace e4r::tools {
namespace {

class Stop : public testing::Test {
 protected:
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(dir_.path()), {});
  }
  // Begins an output file that has a name while it is unfinished, and raises the signal.
  void begin_and_raise(int signal) {
    auto out = Output::create(dir_.file("out"), OutputKind::file, {.needs_name = true});
    if (!out.ok() || files() != 1) std::exit(1);
    ::raise(signal);
  }

  test::TempDir dir_;
};

TEST_F(Stop, ASignalRemovesWhatIsUnfinished) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    EXPECT_EXIT((remove_unfinished_on_signals(), begin_and_raise(signal)),
                testing::KilledBySignal(signal), "");
    EXPECT_EQ(files(), 0);
  }
}

TEST_F(Stop, TheSecondSignalDoesToo) {
  EXPECT_EXIT(
      {
        const std::atomic<bool>& stop = stop_on_signals();
        ::raise(SIGINT);
        if (!stop) std::exit(1);
        begin_and_raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
  EXPECT_EQ(files(), 0);
}

TEST_F(Stop, WhatIsIgnoredStaysIgnored) {
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_IGN);  // nohup
        remove_unfinished_on_signals();
        begin_and_raise(SIGHUP);
        std::exit(files() == 0 ? 7 : 8);  // the destructor of the output has removed the file
      },
      testing::ExitedWithCode(7), "");
}

TEST_F(Stop, ABrokenPipeCanBeToldOf) {
  EXPECT_EXIT(
      {
        tell_broken_pipes();
        ::raise(SIGPIPE);
        std::exit(7);
      },
      testing::ExitedWithCode(7), "");
}

TEST_F(Stop, NoSecondSignalEndsWhoHasThingsToPutBack) {
  EXPECT_EXIT(
      {
        const std::atomic<bool>& stop = stop_on_signals(SecondSignal::nothing);
        ::raise(SIGINT);
        ::raise(SIGINT);
        std::exit(stop ? 7 : 8);
      },
      testing::ExitedWithCode(7), "");
}

// The signal arrives while the hunt ages and tries file systems. The test fails if the hunt
// continues.
TEST_F(Stop, TheFirstSignalEndsAHunt) {
  const std::string out = dir_.file("case.e4c");
  for (const char* wait : {"0", "0.5", "2"}) {
    const std::string stopped =
        "\"$0\" hunt --base legacy --with linux-6.12 -o \"$1\" --trials 10000000 --largest 64G "
        "--no-progress & "
        "until ls -l /proc/$!/fd 2>&1 | grep -q deleted; do sleep 0.01; done; "
        "sleep $2; kill -TERM $!; wait $!";
    const test::Outcome done =
        test::run({"timeout", "-k", "1", "300", "sh", "-c", stopped, E4REPLAY, out, wait});
    EXPECT_EQ(done.status, 130) << done.err;
    EXPECT_EQ(done.err, "e4replay: stopped: no capture was written\n");
    EXPECT_EQ(files(), 0);
  }
}

// With any limit of memory, the command must print either one line of error or its result. Limits
// at which its shared libraries cannot be loaded or initialised do not count: nothing of it has
// run.
TEST_F(Stop, WantOfMemoryIsOneLine) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take the memory of all addresses";
#endif
  constexpr std::string_view kLine =
      "e4replay: out of memory: raise the limit (ulimit -v), or give a smaller input\n";
  const std::string capture = TRACES "/posting-256g.e4c";
  bool said = false, answered = false;
  for (int kb = 16384; kb < 4 << 20 && !answered; kb += kb / 8) {
    const auto run = [&](const std::string& arguments) {
      return test::run({"sh", "-c", "ulimit -v $2; exec \"$0\" " + arguments, E4REPLAY, capture,
                        std::to_string(kb)});
    };
    if (run("--version").status > 1) continue;
    const test::Outcome done = run("replay \"$1\" --force --threads 1");
    answered = done.status == 0;
    EXPECT_TRUE(done.status <= 1) << kb << ": " << done.status << done.err;
    if (!answered) {
      EXPECT_EQ(std::ranges::count(done.err, '\n'), 1) << kb << ": " << done.err;
    }
    said = said || done.err == kLine;
  }
  EXPECT_TRUE(said && answered);
}

}  // namespace
}  // namespace e4r::tools
