// SPDX-License-Identifier: GPL-2.0-or-later
#include "tune2fs-lazy/tune2fs.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "common/child.h"
#include "common/print_line.h"
#include "lazyinit/enable.h"
#include "lazyinit/orphan_file.h"

namespace e4r::tools {
namespace {

// The environment, with messages in English.
std::vector<std::string> environment() {
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

// What a tool printed, on one line, without its version.
std::string one_line(const std::string& text) {
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string piece = text.substr(at, end - at);
    if (!piece.empty() && !piece.starts_with("tune2fs 1."))
      line += (line.empty() ? "" : " ") + piece;
    at = end + 1;
  }
  return line;
}

// tune2fs -O FEATURES IMAGE: what it printed, in one line. That becomes the Error when it fails.
Result<std::string> run_tune2fs(const std::string& features, const std::string& image) {
  std::vector<std::string> arguments = {find_program("tune2fs"), "-O", features, image};
  if (arguments.front().empty()) return error("tune2fs is not installed (Debian: e2fsprogs)");
  std::vector<std::string> variables = environment();
  std::array<int, 2> pipe = {};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return error("pipe: {}", errno_text(errno));
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, pipe[1], 1);
  ::posix_spawn_file_actions_adddup2(&actions, pipe[1], 2);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, arguments.front().c_str(), &actions, nullptr,
                                   pointers(arguments).data(), pointers(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  const std::string text = failed == 0 ? read_all(pipe[0]) : "";
  ::close(pipe[0]);
  if (failed != 0) return error("cannot run {}: {}", arguments.front(), errno_text(failed));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return one_line(text);
  return error("tune2fs -O {} {} failed: {}", features, image, one_line(text));
}

Result<std::vector<bool>> flagged_groups(const std::string& image) {
  E4R_TRY(const auto target, lazyinit::Target::open(image, lazyinit::Target::Access::read));
  return lazyinit::flagged_zeroed(*target);
}

}  // namespace

Status change_metadata_csum(const ImageOptions& options, const std::string& features,
                            const lazyinit::ImageLock& lock) {
  if (options.dry_run) {
    print_line("would have run tune2fs -O {} {}", features, options.image);
    return {};
  }
  E4R_TRY(const auto flagged, flagged_groups(options.image));
  E4R_TRY(const std::string said, run_tune2fs(features, options.image));
  if (!said.empty()) print_line("tune2fs: {}", said);
  E4R_TRY(const auto target, open_target(options, lock));
  E4R_CHECK(lazyinit::keep_flags(*target, flagged));
  E4R_CHECK(lazyinit::renew_orphan_checksums(*target));
  E4R_TRY(const bool wants_check, lazyinit::unclean(*target));
  if (wants_check)
    return error(
        "{}: tune2fs -O {} is done and wants a check, which this command needs to go on: run "
        "e2fsck -fyD {}, then the same command once more",
        options.image, features, options.image);
  return {};
}

}  // namespace e4r::tools
