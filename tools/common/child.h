// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "util/status.h"

namespace e4r::tools {

// The first program of that name in PATH, /usr/sbin and /sbin that is not this one; empty when
// there is none.
[[nodiscard]] std::string find_program(const std::string& name);

// Where the installed mke2fs is: $E4R_MKE2FS, or what find_program() finds.
[[nodiscard]] Result<std::string> find_mke2fs();

// Words as exec() and posix_spawn() take them; good for as long as `words` is left alone.
[[nodiscard]] std::vector<char*> pointers(std::vector<std::string>& words);

// Becomes the program; returns only to say why it could not.
[[nodiscard]] Error become(const std::string& program, std::vector<std::string> argv);

// Runs the program on our standard input, output and error, so that it can ask on the terminal,
// and waits for it: its exit status, or 128 + the signal that ended it. Meanwhile what the
// terminal sends to both is the child's to answer, and SIGTERM and SIGHUP are handed on to it. When
// it succeeds all the same, the signal reaches this program then.
[[nodiscard]] Result<int> run_child(const std::string& program, std::vector<std::string> argv);

// What a program printed, standard error included, and how it ended (as run_child() says it).
struct Captured {
  int status = 0;
  std::string text;
};

// Runs the program with LC_ALL=C and nothing on its standard input, keeps what it prints, and waits
// for it.
[[nodiscard]] Result<Captured> run_captured(const std::string& program,
                                            std::vector<std::string> argv);

// A program that runs beside this one, on the same standard input, output and error. What the
// terminal sends goes to both.
class Child {
 public:
  // argv[0] is looked up in PATH. The Error: it cannot be run.
  [[nodiscard]] static Result<Child> start(std::vector<std::string> argv);
  Child(Child&& other) noexcept { swap(other); }
  Child& operator=(Child&& other) noexcept {
    swap(other);
    return *this;
  }
  // It goes on, if it has not ended.
  ~Child();

  // Waits for its end, not longer than that: its exit status, or 128 + the signal that ended it.
  [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds most);
  void send(int signal) const;

 private:
  Child() = default;
  void swap(Child& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(pid_fd_, other.pid_fd_);
  }

  pid_t pid_ = -1;
  int pid_fd_ = -1;
};

}  // namespace e4r::tools
