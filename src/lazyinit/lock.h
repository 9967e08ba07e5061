// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "util/fd.h"
#include "util/status.h"

namespace e4r::lazyinit {

// Keeps two of the project's programs from changing one file system at the same time: a lock
// (flock(2)) on the image's own file, so the name under which it was given does not matter. For a
// block device it is the node that the kernel names it by (DEVNAME in sysfs), which is also what
// udev respects. It does not stop other programs.
//
// The programs that are started meanwhile have the lock too: it ends with the last of them.
class ImageLock {
 public:
  // Holds no lock: for commands that change nothing.
  ImageLock() = default;
  // The Error says which process has the lock, as far as /proc/locks tells.
  [[nodiscard]] static Result<ImageLock> take(const std::string& path);
  [[nodiscard]] bool held() const { return fd_.is_open(); }

 private:
  explicit ImageLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace e4r::lazyinit
