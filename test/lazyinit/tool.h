// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/lazy_images.h"
#include "support/process.h"
#include "support/raw_file.h"
#include "support/temp_dir.h"

namespace e4r::test {

// Runs tune2fs-lazy.
[[nodiscard]] inline Outcome tool(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), TUNE2FS_LAZY);
  return run(arguments);
}

// A test case with its own image.
class ToolTest : public testing::Test {
 protected:
  void make(const std::string& shape) { make_lazy_image(path_, lazy_shape(shape)); }
  [[nodiscard]] std::string file(const std::string& name) const { return dir_.file(name); }
  [[nodiscard]] std::string copy(const std::string& name) const {
    const std::string to = file(name);
    copy_sparse(path_, to);
    return to;
  }
  static void expect_clean(const std::string& path) {
    const Fsck result = fsck(path);
    EXPECT_EQ(result.status, 0) << result.text;
  }
  static void expect_done(const Outcome& outcome) {
    EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  }
  static void expect_status(const Outcome& outcome, int status, const std::string& text) {
    EXPECT_EQ(outcome.status, status) << outcome.out << outcome.err;
    EXPECT_NE((outcome.out + outcome.err).find(text), std::string::npos)
        << outcome.out << outcome.err;
  }

  TempDir dir_;
  std::string path_ = dir_.file("image");
};

// A test case that runs once for each shape of file system.
class ToolOnShape : public ToolTest, public testing::WithParamInterface<Shape> {
 protected:
  void SetUp() override { make_lazy_image(path_, GetParam()); }
};

// Returns the directories as debugfs lists them: names, inodes, sizes.
[[nodiscard]] inline std::string listing(const std::string& path) {
  const TempDir dir;
  std::ofstream(dir.file("commands")) << "ls -l /\nls -l /one\nls -l /two\nls -l /one/deep\n";
  return run({"debugfs", "-f", dir.file("commands"), path}).out;
}

}  // namespace e4r::test
