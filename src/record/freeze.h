// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>

#include "util/status.h"

namespace e4r::record {

// A file system that takes no writes (FIFREEZE, ioctl_fsfreeze): its journal is flushed, and who
// writes waits. A process of its own thaws it when the time is up or when this one is gone, however
// it went. Movable.
class Freeze {
 public:
  using Clock = std::chrono::steady_clock;

  // Freezes the file system that is mounted there, for `most` at the longest.
  [[nodiscard]] static Result<Freeze> begin(const std::string& mount_point,
                                            std::chrono::milliseconds most);
  Freeze(Freeze&& other) noexcept { swap(other); }
  Freeze& operator=(Freeze&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Freeze();

  // Thaws it. The Error of a time that was up says so: what was read meanwhile need not be of one
  // moment.
  [[nodiscard]] Status end();
  // How long writers have waited so far, or had to.
  [[nodiscard]] std::chrono::duration<double> lasted() const {
    return (fd_ >= 0 ? Clock::now() : ended_) - began_;
  }

 private:
  Freeze() = default;
  void swap(Freeze& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(watch_fd_, other.watch_fd_);
    std::swap(watcher_, other.watcher_);
    std::swap(point_, other.point_);
    std::swap(most_, other.most_);
    std::swap(began_, other.began_);
    std::swap(ended_, other.ended_);
  }
  Status start_watcher();
  void stop_watcher();

  int fd_ = -1;        // of the mount point
  int watch_fd_ = -1;  // its end is what the watcher waits for
  pid_t watcher_ = -1;
  std::string point_;
  std::chrono::milliseconds most_{};
  Clock::time_point began_, ended_;
};

}  // namespace e4r::record
