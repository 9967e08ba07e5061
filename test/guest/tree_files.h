// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/temp_dir.h"

namespace e4r::guest {

// The part of a stock tree's ext4.h that the driver reads.
inline constexpr const char* kStockCounters =
    "\tatomic64_t s_bal_cX_groups_considered[4];\n\tatomic64_t s_bal_cX_hits[4];\n";

// A small kernel tree, and a place for its overlay.
class TreeTest : public testing::Test {
 protected:
  // Writes a file to the tree.
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path at = std::filesystem::path(tree_) / path;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at) << text;
  }

  test::TempDir dir_;
  std::string tree_ = dir_.file("linux");
  std::string overlay_ = dir_.file("overlay");
};

}  // namespace e4r::guest
