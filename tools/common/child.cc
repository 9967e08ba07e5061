// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>

namespace e4r::tools {
namespace {

volatile std::sig_atomic_t child_pid = 0;
volatile std::sig_atomic_t last_signal = 0;  // the last signal received while the child runs

void remember(int signal) {
  last_signal = signal;
}

void hand_on(int signal) {
  last_signal = signal;
  if (child_pid > 0) ::kill(static_cast<pid_t>(child_pid), signal);
}

// Handles signals while a child runs; the destructor restores the previous handlers. Signals are
// blocked from construction until let_in(), and again after block(). So no signal is lost while the
// handlers change.
class ChildSignals {
 public:
  ChildSignals() {
    ::sigemptyset(&signals_);
    for (const int signal : kSignals) ::sigaddset(&signals_, signal);
    ::pthread_sigmask(SIG_BLOCK, &signals_, &mask_before_);
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      struct sigaction action = {};
      action.sa_handler = i < kTerminal ? remember : hand_on;
      ::sigaction(kSignals[i], &action, &before_[i]);
    }
    last_signal = 0;
  }
  ~ChildSignals() { restore(); }
  ChildSignals(const ChildSignals&) = delete;
  ChildSignals& operator=(const ChildSignals&) = delete;
  void let_in() const { ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr); }
  void block() const { ::pthread_sigmask(SIG_BLOCK, &signals_, nullptr); }
  void restore() const {
    for (std::size_t i = 0; i < kSignals.size(); ++i)
      ::sigaction(kSignals[i], &before_[i], nullptr);
    let_in();
  }

 private:
  static constexpr std::array kSignals = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
  static constexpr std::size_t kTerminal = 2;
  sigset_t signals_ = {};
  sigset_t mask_before_ = {};
  std::array<struct sigaction, kSignals.size()> before_ = {};
};

bool same_as_this(const struct stat& st) {
  struct stat self = {};
  return ::stat("/proc/self/exe", &self) == 0 && self.st_dev == st.st_dev &&
         self.st_ino == st.st_ino;
}

Error cannot_run(const std::string& program, int errnum) {
  return error("cannot run {}: {}", program, errno_text(errnum));
}

// Converts a status from waitpid().
int exit_status(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return exit_status(status);
}

// Returns the environment with LC_ALL=C, so that programs print English messages.
std::vector<std::string> english_environment() {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!text.starts_with("LC_ALL=")) all.push_back(text);
  }
  all.emplace_back("LC_ALL=C");
  return all;
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> buffer = {};
  for (;;) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream places(std::string(path == nullptr ? "" : path) + ":/usr/sbin:/sbin");
  for (std::string place; std::getline(places, place, ':');) {
    std::string candidate = fmt::format("{}/{}", place, name);
    struct stat st = {};
    if (place.empty() || ::stat(candidate.c_str(), &st) != 0 || same_as_this(st)) continue;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

namespace {

// Returns the path of a program of e2fsprogs: the value of the environment variable `variable`, or
// else the result of find_program().
Result<std::string> find_in_e2fsprogs(const std::string& name, const char* variable) {
  if (const char* chosen = std::getenv(variable); chosen != nullptr && *chosen != '\0')
    return std::string(chosen);
  if (const std::string found = find_program(name); !found.empty()) return found;
  return error(
      "there is no {} in PATH, /usr/sbin or /sbin: install e2fsprogs, or set {} to its path", name,
      variable);
}

}  // namespace

Result<std::string> find_mke2fs() {
  return find_in_e2fsprogs("mke2fs", "E4R_MKE2FS");
}

Result<std::string> find_tune2fs() {
  return find_in_e2fsprogs("tune2fs", "E4R_TUNE2FS");
}

Error become(const std::string& program, std::vector<std::string> argv) {
  ::execv(program.c_str(), pointers(argv).data());
  return cannot_run(program, errno);
}

Result<int> run_child(const std::string& program, std::vector<std::string> argv) {
  if (::access(program.c_str(), X_OK) != 0) return cannot_run(program, errno);
  const std::vector<char*> words = pointers(argv);
  int status = 0;
  {
    const ChildSignals signals;
    const pid_t pid = ::fork();
    if (pid < 0) return cannot_run(program, errno);
    if (pid == 0) {
      signals.restore();
      ::execv(program.c_str(), words.data());
      ::_exit(127);
    }
    child_pid = pid;
    signals.let_in();
    status = wait_for(pid);
    signals.block();
    child_pid = 0;
  }
  const int signal = last_signal;
  if (signal != 0 && (status == 0 || status == 128 + signal)) ::raise(signal);
  return status;
}

Result<Captured> run_captured(const std::string& program, std::vector<std::string> argv) {
  std::vector<std::string> variables = english_environment();
  std::array<int, 2> ends = {};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return error("pipe: {}", errno_text(errno));
  Fd from(ends[0]);
  Fd to(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, to.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, to.get(), 2);
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, pointers(argv).data(),
                                   pointers(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return cannot_run(program, failed);
  (void)to.close();
  Captured out;
  out.text = read_all(from.get());
  out.status = wait_for(pid);
  return out;
}

Result<Child> Child::start(std::vector<std::string> argv) {
  Child out;
  const std::vector<char*> words = pointers(argv);
  const int failed =
      ::posix_spawnp(&out.pid_, words.front(), nullptr, nullptr, words.data(), environ);
  if (failed != 0) return cannot_run(argv.front(), failed);
  out.pid_fd_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, out.pid_, 0)));
  return out;
}

std::optional<int> Child::wait(std::chrono::milliseconds most) {
  pollfd end = {pid_fd_.get(), POLLIN, 0};
  ::poll(&end, 1, static_cast<int>(most.count()));  // without a pidfd, waits for the whole time
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  return exit_status(status);
}

void Child::send(int signal) const {
  ::kill(pid_, signal);
}

}  // namespace e4r::tools
