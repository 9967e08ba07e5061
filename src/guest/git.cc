// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/git.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "util/escaped.h"
#include "util/fd.h"
#include "util/file.h"
#include "util/shell.h"

namespace e4r::guest {
namespace {

std::string read_all(std::FILE* pipe) {
  std::string out;
  std::array<char, 65536> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
    out.append(buffer.data(), got);
  return out;
}

}  // namespace

Result<std::string> git(const std::vector<std::string>& words) {
  // Warnings must not get into the output, so git's messages go to a file.
  const Fd messages = memory_file("e4replay git", 0);
  if (!messages.is_open()) return error("cannot make a file in memory: {}", errno_text(errno));
  std::string command = "{ git --no-optional-locks";
  for (const std::string& word : words) command += ' ' + shell_quoted(word);
  command += fmt::format("; }} 2>/proc/{}/fd/{} </dev/null", ::getpid(), messages.get());
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return error("cannot start git");
  std::string out = read_all(pipe);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    return error("git is missing: apt install git");
  if (status == 0) return out;
  E4R_TRY(const std::string said, read_file(messages.path()));
  return error("git says: {}", escaped(said.substr(0, said.find('\n'))));
}

}  // namespace e4r::guest
