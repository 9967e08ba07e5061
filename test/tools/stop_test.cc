// SPDX-License-Identifier: GPL-2.0-or-later
// What signals leave behind.
#include "common/stop.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "support/temp_dir.h"
#include "util/output.h"

namespace e4r::tools {
namespace {

class Stop : public testing::Test {
 protected:
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(dir_.path()), {});
  }
  // Of a file that has a name although it is not finished.
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
        std::exit(files() == 0 ? 7 : 8);  // it was removed by its owner
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

}  // namespace
}  // namespace e4r::tools
