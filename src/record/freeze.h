// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "util/fd.h"
#include "util/status.h"

namespace e4r::record {

// A frozen file system (FIFREEZE, ioctl_fsfreeze): its journal is flushed, and writers wait. A
// separate process, the guard, performs the freeze. So it knows whether it must thaw, even if this
// process is killed. The guard thaws when the time is up or when this process has ended. If the
// guard is gone, this process thaws. Movable.
class Freeze {
 public:
  using Clock = std::chrono::steady_clock;

  // Freezes the file system mounted at `mount_point` for at most `most`, which includes the flush.
  // If the flush takes longer, thaws the file system and returns an Error.
  [[nodiscard]] static Result<Freeze> begin(const std::string& mount_point,
                                            std::chrono::milliseconds most);
  Freeze(Freeze&& other) noexcept { swap(other); }
  Freeze& operator=(Freeze&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Freeze();

  // Thaws the file system. Fails if writers had to wait longer than `most`: data read in the
  // meantime may then be from different moments.
  [[nodiscard]] Status end();
  // How long writers have waited so far; after end(), how long they waited altogether.
  [[nodiscard]] std::chrono::duration<double> waited() const {
    return (frozen_.is_open() ? Clock::now() : ended_) - began_;
  }

 private:
  Freeze() = default;
  void swap(Freeze& other) noexcept;
  [[nodiscard]] Status start_guard();
  [[nodiscard]] Status wait_for_freeze();
  [[nodiscard]] Error too_long() const;
  void wait_for_guard();

  Fd frozen_;  // the mount point; open while frozen
  Fd line_;    // socket to the guard; when it closes, the guard assumes that this process has ended
  pid_t guard_ = -1;
  std::string point_;
  std::chrono::milliseconds most_{};
  Clock::time_point began_, ended_;
};

// Thaws the file system mounted at `mount_point`. Returns whether it was frozen.
[[nodiscard]] Result<bool> thaw(const std::string& mount_point);

}  // namespace e4r::record
