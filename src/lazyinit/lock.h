// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "util/fd.h"
#include "util/status.h"

namespace e4r::lazyinit {

// Keeps others from changing a file system at the same time, as far as they lock it too, by two
// locks on the image's own file: flock(2), and all bytes by fcntl(2) (F_OFD_SETLK), which QEMU
// takes and heeds. So the name under which it was given does not matter. For a block device it is
// the node that the kernel names it by (DEVNAME in sysfs), and for a partition flock(2) on the
// node of its whole disk comes first: that is how systemd wants block devices to be locked
// (https://systemd.io/BLOCK_DEVICE_LOCKING), and udev leaves the disk alone meanwhile. A disk whose
// node is not there, or may not be opened, is passed over.
//
// What a process locked that this one descends from is locked for this one: `flock DEV` and
// `udevadm lock -d DEV` run commands so.
//
// The programs that are started meanwhile have the lock too: it ends with the last of them.
class ImageLock {
 public:
  // Holds no lock: for commands that change nothing.
  ImageLock() = default;
  // The Error says which process has the lock, as far as /proc tells.
  [[nodiscard]] static Result<ImageLock> take(const std::string& path);
  [[nodiscard]] bool held() const { return fd_.is_open(); }

 private:
  Fd disk_, fd_;
};

}  // namespace e4r::lazyinit
