// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "util/fd.h"
#include "util/status.h"

namespace e4r::tools {

// The first program of that name in PATH, /usr/sbin and /sbin, except this program itself. Empty if
// no such file exists.
[[nodiscard]] std::string find_program(const std::string& name);

// The path of the installed mke2fs: $E4R_MKE2FS, or the result of find_program().
[[nodiscard]] Result<std::string> find_mke2fs();

// The path of the installed tune2fs: $E4R_TUNE2FS, or the result of find_program().
[[nodiscard]] Result<std::string> find_tune2fs();

// Pointers for exec() and posix_spawn(). They are valid while `words` is unchanged.
[[nodiscard]] std::vector<char*> pointers(std::vector<std::string>& words);

// Replaces this process by the program. Returns only on failure.
[[nodiscard]] Error become(const std::string& program, std::vector<std::string> argv);

// Runs the program on this process's standard input, output and error, so that it can ask on the
// terminal. Waits for it and returns its exit status, or 128 + the signal that ended it. Meanwhile
// the child alone reacts to signals from the terminal, and SIGTERM and SIGHUP are forwarded to it.
// If a signal ends it, or it succeeds in spite of the signal, this program then receives the
// signal.
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
// terminal sends goes to both. If it has not ended, it outlives the object.
class Child {
 public:
  // Looks up argv[0] in PATH. Error: it cannot be run.
  [[nodiscard]] static Result<Child> start(std::vector<std::string> argv);

  // Waits at most `most` for its end. Returns its exit status, or 128 + the signal that ended it.
  [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds most);
  void send(int signal) const;

 private:
  Child() = default;

  pid_t pid_ = -1;
  Fd pid_fd_;  // not open on a kernel without pidfds
};

}  // namespace e4r::tools
