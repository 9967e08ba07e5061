// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/process.h"

namespace e4r::test {

// A mount during the object's lifetime.
class Mount {
 public:
  Mount(const std::string& device, const std::string& at, const std::string& options) : at_(at) {
    std::filesystem::create_directories(at);
    mounted_ = run({"mount", "-o", options, device, at}).status == 0;
  }
  ~Mount() { unmount(); }
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;
  [[nodiscard]] bool mounted() const { return mounted_; }
  void unmount() {
    if (mounted_) {
      EXPECT_EQ(run({"umount", at_}).status, 0);
    }
    mounted_ = false;
  }

 private:
  std::string at_;
  bool mounted_ = false;
};

}  // namespace e4r::test
