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

// The first program with that name in PATH, /usr/sbin and /sbin, except this program itself. Empty
// if no other program has that name.
[[nodiscard]] std::string find_program(const std::string& name);

// The path of the installed mke2fs: $E4R_MKE2FS, or the result of find_program().
[[nodiscard]] Result<std::string> find_mke2fs();

// The path of the installed tune2fs: $E4R_TUNE2FS, or the result of find_program().
[[nodiscard]] Result<std::string> find_tune2fs();

// Returns pointers to the words, followed by a null pointer, as exec() and posix_spawn() need them.
// They are valid until `words` changes.
[[nodiscard]] std::vector<char*> pointers(std::vector<std::string>& words);

// Replaces this process by the program. Returns only on failure.
[[nodiscard]] Error become(const std::string& program, std::vector<std::string> argv);

// Runs the program on this process's standard input, output and error, so that it can ask questions
// on the terminal. Waits for it and returns its exit status, or 128 + the signal that ended it.
// Meanwhile only the child reacts to signals from the terminal, and SIGTERM and SIGHUP are
// forwarded to it. If this process received a signal meanwhile, and the signal ended the child or
// the child succeeded, raises the signal again at the end.
[[nodiscard]] Result<int> run_child(const std::string& program, std::vector<std::string> argv);

// A program's output, including standard error, and its status as returned by run_child().
struct Captured {
  int status = 0;
  std::string text;
};

// Runs the program with LC_ALL=C and without standard input, keeps its output, and waits for it.
[[nodiscard]] Result<Captured> run_captured(const std::string& program,
                                            std::vector<std::string> argv);

// A program that runs in parallel with this one, on the same standard input, output and error. The
// terminal sends its signals to both programs. If the program is still running when the object is
// destroyed, it continues to run.
class Child {
 public:
  // Looks up argv[0] in PATH. Fails if the program cannot be run.
  [[nodiscard]] static Result<Child> start(std::vector<std::string> argv);

  // Waits at most `most` for the program to end. Returns its exit status, or 128 + the signal that
  // ended it.
  [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds most);
  void send(int signal) const;

 private:
  Child() = default;

  pid_t pid_ = -1;
  Fd pid_fd_;  // not open on a kernel without pidfds
};

}  // namespace e4r::tools
