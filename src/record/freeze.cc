// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/freeze.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace e4r::record {
namespace {

using std::chrono::milliseconds;
using Clock = Freeze::Clock;

// How long to wait if another recorder or a backup has frozen the file system.
constexpr milliseconds kPatience{2000};
constexpr milliseconds kPause{20};

// The guard's report on FIFREEZE, sent once.
struct Outcome {
  int failed = 0;  // errno of FIFREEZE; ETIMEDOUT if it took too long and the file system is thawed
                   // again
  Clock::time_point began;
};

// Closes all other descriptors. The guard must not keep the recorder's files open, above all trace
// buffers. Kernels before 5.9 lack close_range(), but closefrom() needs it only for speed.
void close_others(int one, int other) {
  const int high = std::max(one, other);
  for (int fd = 3; fd < high; ++fd)
    if (fd != one && fd != other) ::close(fd);
  ::closefrom(high + 1);
}

int round_up_ms(Clock::duration time) {
  return static_cast<int>(std::max<std::int64_t>(
      std::min<std::int64_t>(std::chrono::ceil<milliseconds>(time).count(), INT32_MAX), 0));
}

// Waits for a message from the recorder or for the recorder's end. Returns whether either came in
// time.
bool hears(int line, milliseconds most) {
  const Clock::time_point until = Clock::now() + most;
  pollfd wait = {line, POLLIN, 0};
  for (;;) {
    const int ready = ::poll(&wait, 1, round_up_ms(until - Clock::now()));
    if (ready > 0 || (ready == 0 && Clock::now() >= until)) return ready > 0;
  }
}

// Thaws the file system. EINVAL means that it is not frozen.
bool thaw_fd(int fd) {
  return ::ioctl(fd, FITHAW, 0) == 0 || errno == EINVAL;
}

Outcome freeze(int fd, int line) {
  Outcome out;
  const Clock::time_point first = Clock::now();
  do {
    out.began = Clock::now();
    out.failed = ::ioctl(fd, FIFREEZE, 0) == 0 ? 0 : errno;
  } while (out.failed == EBUSY && Clock::now() - first < kPatience && !hears(line, kPause));
  return out;
}

// The guard's main function. It runs in a forked process and may call only async-signal-safe
// functions. A byte on the line means that the recorder has thawed the file system.
[[noreturn]] void guard(int fd, int line, milliseconds most) {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_IGN);
  ::setsid();  // leaves the terminal's session, which job control may stop
  close_others(fd, line);
  if (hears(line, milliseconds(0))) ::_exit(1);  // the recorder has ended already
  Outcome outcome = freeze(fd, line);
  const Clock::time_point until = outcome.began + most;
  const bool late = outcome.failed == 0 && Clock::now() >= until;
  if (late) outcome.failed = ETIMEDOUT;
  while (late && !thaw_fd(fd)) hears(-1, kPause);
  (void)::send(line, &outcome, sizeof outcome, MSG_NOSIGNAL);
  if (outcome.failed != 0) ::_exit(1);
  char byte = 0;
  if (hears(line, milliseconds(round_up_ms(until - Clock::now()))) && ::read(line, &byte, 1) == 1)
    ::_exit(0);
  while (!thaw_fd(fd)) hears(-1, kPause);
  ::_exit(1);
}

}  // namespace

void Freeze::swap(Freeze& other) noexcept {
  std::swap(frozen_, other.frozen_);
  std::swap(line_, other.line_);
  std::swap(guard_, other.guard_);
  std::swap(point_, other.point_);
  std::swap(most_, other.most_);
  std::swap(began_, other.began_);
  std::swap(ended_, other.ended_);
}

Status Freeze::start_guard() {
  std::array<int, 2> ends = {};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return error("cannot make a pair of sockets: {}", errno_text(errno));
  line_ = Fd(ends[0]);
  const Fd its_end(ends[1]);
  guard_ = ::fork();
  if (guard_ == 0) guard(frozen_.get(), its_end.get(), most_);
  return guard_ < 0 ? error("cannot start a process: {}", errno_text(errno)) : Status();
}

// Waits for the guard to report on FIFREEZE. Resumes a guard that was stopped.
Status Freeze::wait_for_freeze() {
  while (!hears(line_.get(), most_ + std::chrono::seconds(1))) ::kill(guard_, SIGCONT);
  Outcome outcome;
  const ssize_t got = ::recv(line_.get(), &outcome, sizeof outcome, 0);
  began_ = outcome.began;
  ended_ = Clock::now();
  if (got == sizeof outcome && outcome.failed == 0) return {};
  if (got == sizeof outcome && outcome.failed == ETIMEDOUT) return too_long();
  if (got == sizeof outcome && outcome.failed == EBUSY)
    return error(
        "{}: is frozen by another program (fsfreeze), or by a recorder that was killed (e4replay "
        "record --clean)",
        point_);
  if (got == sizeof outcome)
    return error("{}: cannot be frozen: {}", point_, errno_text(outcome.failed));
  while (!thaw_fd(frozen_.get())) hears(-1, kPause);
  return error("{}: the process that had to freeze and thaw it was killed: record again", point_);
}

// Waits for the guard to end, which it does at once. If the guard was stopped, resumes it first.
void Freeze::wait_for_guard() {
  if (guard_ <= 0) return;
  ::kill(guard_, SIGCONT);
  while (::waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
  }
  guard_ = -1;
}

Result<Freeze> Freeze::begin(const std::string& mount_point, milliseconds most) {
  Freeze out;
  out.point_ = mount_point;
  out.most_ = most;
  out.frozen_ = Fd(::open(mount_point.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!out.frozen_.is_open()) return error("{}: {}", mount_point, errno_text(errno));
  ::syncfs(out.frozen_.get());  // starts writeback early, so that the freeze need not wait for it
  Status status = out.start_guard();
  if (status.ok()) status = out.wait_for_freeze();
  if (status.ok()) return out;
  out.frozen_ = Fd();  // nothing is frozen here
  out.line_ = Fd();
  out.wait_for_guard();
  return std::move(status).error();
}

Error Freeze::too_long() const {
  return error(
      "{}: writers waited {:.3f} s, and {:.3f} s are allowed: allow more with --max-freeze", point_,
      waited().count(), std::chrono::duration<double>(most_).count());
}

Status Freeze::end() {
  if (!frozen_.is_open()) return {};
  const bool done = ::ioctl(frozen_.get(), FITHAW, 0) == 0;
  const int failed = errno;
  ended_ = Clock::now();
  frozen_ = Fd();
  // If the line closes without a message, the guard continues to try to thaw.
  if (!done && failed != EINVAL) {
    line_ = Fd();
    guard_ = -1;
    return error("{}: cannot be thawed: {}", point_, errno_text(failed));
  }
  (void)::send(line_.get(), "", 1, MSG_NOSIGNAL);
  wait_for_guard();
  line_ = Fd();
  if (ended_ - began_ > most_) return too_long();
  return done ? Status() : error("{}: was thawed by another program while it was read", point_);
}

Freeze::~Freeze() {
  static_cast<void>(end());
}

Result<bool> thaw(const std::string& mount_point) {
  const Fd fd(::open(mount_point.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) return error("{}: {}", mount_point, errno_text(errno));
  if (::ioctl(fd.get(), FITHAW, 0) == 0) return true;
  if (errno == EINVAL) return false;
  return error("{}: cannot be thawed: {}", mount_point, errno_text(errno));
}

}  // namespace e4r::record
