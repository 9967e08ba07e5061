// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "support/process.h"
#include "support/temp_dir.h"

// A bundled capture, both unpacked and as one file.
namespace e4replay_test {

class WithCapture : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = std::make_unique<e4r::test::TempDir>();
    must({E4R_UNPACK, E4REPLAY, dir_->path(), "churn-4k"});
    must({E4REPLAY, "trace", "convert", trace(), capture(), "--image", image()});
  }
  static void TearDownTestSuite() { dir_.reset(); }

  static std::string file(const std::string& name) { return dir_->file(name); }
  static std::string image() { return file("churn-4k.img"); }
  static std::string trace() { return file("churn-4k.trace.zst"); }
  static std::string capture() { return file("run.e4c"); }

  // Returns the output of the tool.
  static std::string printed(std::vector<std::string> words) {
    words.insert(words.begin(), E4REPLAY);
    return e4r::test::run(words).out;
  }

 private:
  static void must(const std::vector<std::string>& words) {
    const e4r::test::Outcome outcome = e4r::test::run(words);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
  }
  inline static std::unique_ptr<e4r::test::TempDir> dir_;
};

}  // namespace e4replay_test
