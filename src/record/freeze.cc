// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/freeze.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace e4r::record {
namespace {

// What the recorder has open must not stay so for the watcher's sake: trace buffers, above all.
void close_others(int one, int other) {
  const auto low = static_cast<unsigned>(std::min(one, other));
  const auto high = static_cast<unsigned>(std::max(one, other));
  if (low > 3) ::close_range(3, low - 1, 0);
  if (high > low + 1) ::close_range(low + 1, high - 1, 0);
  ::close_range(high + 1, ~0U, 0);
}

// What the watcher does, in a process that was forked: only calls that are safe there. A byte on
// the pipe means that all is well; its end, or no byte in time, that nobody else will thaw.
[[noreturn]] void watch(int frozen, int pipe, int timeout_ms) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_IGN);
  ::setsid();  // not of the terminal's, which may be stopped
  close_others(frozen, pipe);
  pollfd wait = {pipe, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&wait, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  char byte = 0;
  if (ready == 1 && ::read(pipe, &byte, 1) == 1) ::_exit(0);
  ::ioctl(frozen, FITHAW, 0);
  ::_exit(1);
}

}  // namespace

Status Freeze::start_watcher() {
  std::array<int, 2> ends = {};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return error("cannot make a pipe: {}", errno_text(errno));
  watcher_ = ::fork();
  if (watcher_ == 0) {
    ::close(ends[1]);
    watch(fd_, ends[0], static_cast<int>(most_.count()));
  }
  ::close(ends[0]);
  watch_fd_ = ends[1];
  return watcher_ < 0 ? error("cannot start a process: {}", errno_text(errno)) : Status();
}

void Freeze::stop_watcher() {
  if (watch_fd_ >= 0) {
    const ssize_t told = ::write(watch_fd_, "", 1);
    static_cast<void>(told);  // it is gone: then it has thawed
    ::close(watch_fd_);
    watch_fd_ = -1;
  }
  if (watcher_ > 0)
    while (::waitpid(watcher_, nullptr, 0) < 0 && errno == EINTR) {
    }
  watcher_ = -1;
}

Result<Freeze> Freeze::begin(const std::string& mount_point, std::chrono::milliseconds most) {
  Freeze out;
  out.point_ = mount_point;
  out.most_ = most;
  const int fd = ::open(mount_point.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return error("{}: {}", mount_point, errno_text(errno));
  ::syncfs(fd);  // what is written now need not be waited for then
  out.fd_ = fd;
  out.began_ = out.ended_ = Clock::now();
  Status watched = out.start_watcher();
  int failed = 0;
  if (watched.ok()) {
    out.began_ = Clock::now();
    if (::ioctl(fd, FIFREEZE, 0) == 0) return out;
    failed = errno;
  }
  out.fd_ = -1;  // nothing to thaw
  out.stop_watcher();
  ::close(fd);
  if (!watched.ok()) return std::move(watched).error();
  if (failed == EBUSY) return error("{}: is frozen by somebody else (fsfreeze)", mount_point);
  return error("{}: cannot be frozen: {}", mount_point, errno_text(failed));
}

Status Freeze::end() {
  if (fd_ < 0) return {};
  const bool thawed = ::ioctl(fd_, FITHAW, 0) == 0;
  const int failed = errno;
  ended_ = Clock::now();
  ::close(fd_);
  fd_ = -1;
  stop_watcher();
  if (thawed) return {};
  if (failed == EINVAL)
    return error("{}: was not read within {} ms and was thawed: allow more with --max-freeze",
                 point_, most_.count());
  return error("{}: cannot be thawed: {}", point_, errno_text(failed));
}

Freeze::~Freeze() {
  static_cast<void>(end());
  stop_watcher();
}

}  // namespace e4r::record
