// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "util/fd.h"
#include "util/status.h"

namespace e4r::record {

// A file system that takes no writes (FIFREEZE, ioctl_fsfreeze): its journal is flushed, and
// writers wait. A process of its own, the guard, freezes it. So whatever becomes of this process,
// and whenever, the guard knows whether there is something to thaw. It thaws when the time is up or
// when this process is gone. Should the guard be gone, this process thaws. Movable.
class Freeze {
 public:
  using Clock = std::chrono::steady_clock;

  // Freezes the file system that is mounted there, for `most` at the longest, the flush included.
  // The Error of a flush that takes longer: it has been thawed then.
  [[nodiscard]] static Result<Freeze> begin(const std::string& mount_point,
                                            std::chrono::milliseconds most);
  Freeze(Freeze&& other) noexcept { swap(other); }
  Freeze& operator=(Freeze&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Freeze();

  // Thaws it. The Error of writers that had to wait longer than `most`: what was read meanwhile
  // need not be of one moment.
  [[nodiscard]] Status end();
  // How long writers have waited so far, or had to.
  [[nodiscard]] std::chrono::duration<double> lasted() const {
    return (frozen_.is_open() ? Clock::now() : ended_) - began_;
  }

 private:
  Freeze() = default;
  void swap(Freeze& other) noexcept;
  [[nodiscard]] Status start_guard();
  [[nodiscard]] Status hear_of_guard();
  [[nodiscard]] Error too_long() const;
  void wait_for_guard();

  Fd frozen_;  // the mount point, while it is frozen
  Fd line_;    // to the guard, which takes its end for the end of this process
  pid_t guard_ = -1;
  std::string point_;
  std::chrono::milliseconds most_{};
  Clock::time_point began_, ended_;
};

// Thaws the file system that is mounted there, if it is frozen. Whether it was.
[[nodiscard]] Result<bool> thaw(const std::string& mount_point);

}  // namespace e4r::record
