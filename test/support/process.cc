// SPDX-License-Identifier: GPL-2.0-or-later
#include "support/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "support/temp_dir.h"

namespace e4r::test {
namespace {

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void wait_for(pid_t pid, Outcome& outcome) {
  int status = 0;
  rusage used = {};
  ::wait4(pid, &status, 0, &used);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.peak_kb = static_cast<double>(used.ru_maxrss);
}

// The redirections of a child process, freed by the destructor.
class Redirect {
 public:
  Redirect() { posix_spawn_file_actions_init(&actions_); }
  ~Redirect() { posix_spawn_file_actions_destroy(&actions_); }
  Redirect(const Redirect&) = delete;
  Redirect& operator=(const Redirect&) = delete;
  void open(int fd, const std::string& path, int flags) {
    posix_spawn_file_actions_addopen(&actions_, fd, path.c_str(), flags, 0600);
  }
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

void freeze_environment() {
  const char* path = std::getenv("PATH");
  const std::string searched = path == nullptr ? "/usr/bin:/bin" : path;
  if (searched.find("/usr/sbin") == std::string::npos)
    ::setenv("PATH", (searched + ":/usr/sbin:/sbin").c_str(), 1);
  ::setenv("LC_ALL", "C", 1);
  ::setenv("TZ", "UTC", 1);
}

}  // namespace

Outcome run(const std::vector<std::string>& argv) {
  freeze_environment();
  const TempDir scratch;
  Redirect redirect;
  redirect.open(0, "/dev/null", O_RDONLY);
  redirect.open(1, scratch.file("out"), O_WRONLY | O_CREAT | O_TRUNC);
  redirect.open(2, scratch.file("err"), O_WRONLY | O_CREAT | O_TRUNC);
  std::vector<std::string> words = argv;
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t pid = 0;
  const auto start = std::chrono::steady_clock::now();
  if (::posix_spawnp(&pid, pointers[0], redirect.get(), nullptr, pointers.data(), environ) != 0)
    throw std::runtime_error("cannot start " + argv[0]);
  Outcome outcome;
  wait_for(pid, outcome);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  outcome.out = contents(scratch.file("out"));
  outcome.err = contents(scratch.file("err"));
  return outcome;
}

}  // namespace e4r::test
