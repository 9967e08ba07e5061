// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "util/fd.h"
#include "util/status.h"

namespace e4r::lazyinit {

// Keeps others from changing a file system at the same time, if they lock it too. Two locks are
// taken on the image's inode, so the name of the image does not matter: flock(2), and fcntl(2)
// (F_OFD_SETLK) on all bytes, which QEMU takes and heeds. For a block device, the node that DEVNAME
// in sysfs names is locked. For a partition, flock(2) on its whole disk comes first, as systemd's
// convention wants it (https://systemd.io/BLOCK_DEVICE_LOCKING); udev leaves the disk alone
// meanwhile. A disk without a node, or whose node may not be opened, is passed over.
//
// A lock of an ancestor process counts as ours: `flock DEV` and `udevadm lock -d DEV` run commands
// under a lock of theirs.
//
// Programs that are started meanwhile inherit the lock. It ends with the last of them.
class ImageLock {
 public:
  // Holds no lock, for commands that change nothing.
  ImageLock() = default;
  // The Error names the process that has the lock, if /proc shows it.
  [[nodiscard]] static Result<ImageLock> take(const std::string& path);
  [[nodiscard]] bool held() const { return fd_.is_open(); }

 private:
  Fd disk_, fd_;
};

}  // namespace e4r::lazyinit
