// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "support/process.h"
#include "util/fd.h"

namespace e4r::test {

// A lock that tests in several programs share. A new mount namespace has copies of all mounts. So
// if a test makes a namespace, it can keep a file system mounted that another test has unmounted
// and wants to inspect. A test that makes a namespace therefore takes this lock exclusively, as
// test/record/loop.sh does.
class MountsLock {
 public:
  enum class How : int { shared = LOCK_SH, alone = LOCK_EX };
  explicit MountsLock(How how)
      : file_(::open((std::filesystem::temp_directory_path() / "e4r-test-mounts").c_str(),
                     O_RDONLY | O_CREAT | O_CLOEXEC, 0600)) {
    while (::flock(file_.get(), static_cast<int>(how)) != 0 && errno == EINTR) {
    }
  }

 private:
  Fd file_;
};

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
  MountsLock lock_{MountsLock::How::shared};
  std::string at_;
  bool mounted_ = false;
};

}  // namespace e4r::test
