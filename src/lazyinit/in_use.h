// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "util/fd.h"
#include "util/status.h"

// Internal to src/lazyinit: finds who has locked a file, if /proc shows it.
namespace e4r::lazyinit {

enum class LockKind : std::uint8_t {
  whole,  // flock(2)
  range,  // fcntl(2): of a process, or of an open file description as QEMU has them
};

// A process that holds a lock. Unknown fields are empty.
struct LockHolder {
  std::string pid;
  std::string command;

  // Whether the lock will soon be gone. udev locks a device for a moment, and a process that ends
  // keeps its lock longer than its command line.
  [[nodiscard]] bool ends_soon() const;
  // "process 12 (qemu-system-x86_64 -drive ...)"
  [[nodiscard]] std::string text() const;
};

// One process that has a lock on the inode.
[[nodiscard]] LockHolder holder_of(const struct stat& st, LockKind kind);

// Whether this process or one of its ancestors has an exclusive lock on all of the inode (flock(1),
// udevadm-lock(1), a shell that has locked a descriptor). Such a lock is held for this process. A
// shared lock is not enough: others may have one too.
[[nodiscard]] bool is_locked_for_us(const struct stat& st, LockKind kind);

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

// Somebody uses a file system, so its bytes must not be changed.
struct InUse {
  bool mounted = false;  // in the mount namespace of this process, under this name
  Error refusal;         // says who uses it and what to do
};

// Looks for a mount (ext2fs_check_if_mounted), for a loop device that shows the bytes (for a loop
// device: another one on the same file), and for a program that has the block device open
// exclusively. A mount does that too, in every mount namespace. For the last check the device is
// opened with O_EXCL, so this process must not have it open that way. A path that does not exist
// is not in use. An Error if it cannot be found out whether the path is mounted.
[[nodiscard]] Result<std::optional<InUse>> find_use(const std::string& path);

// Refuses a file system that somebody uses.
[[nodiscard]] Status check_not_in_use(const std::string& path);

// The Error of a block device that is open exclusively.
[[nodiscard]] Error held_error(const std::string& path);

}  // namespace e4r::lazyinit
