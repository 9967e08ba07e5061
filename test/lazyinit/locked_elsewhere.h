// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

namespace e4r::test {

// A lock that another process holds on a file during the object's lifetime. A lock of this process
// would also belong to its children.
class LockedElsewhere {
 public:
  enum class As { flock, qemu };
  LockedElsewhere(const std::string& path, As as) {
    std::array<int, 2> ready = {};
    if (::pipe(ready.data()) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      // QEMU locks bytes from 100 on to show how it uses an image. This is one of them.
      struct flock byte = {};
      byte.l_type = F_RDLCK;
      byte.l_start = 100;
      byte.l_len = 1;
      const bool locked =
          as == As::flock ? ::flock(fd, LOCK_EX) == 0 : ::fcntl(fd, F_OFD_SETLK, &byte) == 0;
      if (!locked || ::write(ready[1], "", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~LockedElsewhere() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  LockedElsewhere(const LockedElsewhere&) = delete;
  LockedElsewhere& operator=(const LockedElsewhere&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

}  // namespace e4r::test
