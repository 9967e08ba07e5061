// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "util/fd.h"
#include "util/status.h"

// Internal to src/lazyinit: finds the process that has locked a file, if /proc shows it.
namespace e4r::lazyinit {

enum class LockKind : std::uint8_t {
  whole,  // flock(2)
  range,  // fcntl(2): held by a process, or by an open file description, as in QEMU
};

// A process that holds a lock. Unknown fields are empty.
struct LockHolder {
  std::string pid;
  std::string command;

  // Whether the lock will soon be released. That is so for udev, which locks a device only briefly,
  // and for an exiting process, which loses its command line before its lock.
  [[nodiscard]] bool ends_soon() const;
  // "process 12 (qemu-system-x86_64 -drive ...)"
  [[nodiscard]] std::string text() const;
};

// Returns a process that has a lock on the inode.
[[nodiscard]] LockHolder holder_of(const struct stat& st, LockKind kind);

// Whether this process or one of its ancestors has an exclusive lock on the whole inode (flock(1),
// udevadm-lock(1), a shell that has locked a descriptor). Such a lock is held on behalf of this
// process. A shared lock is not enough, because other processes may hold one, too.
[[nodiscard]] bool is_locked_for_us(const struct stat& st, LockKind kind);

// Keeps other programs that lock a file system from changing it at the same time. Two locks are
// taken on the image's inode, so the name of the image does not matter: flock(2), and fcntl(2)
// (F_OFD_SETLK) on all bytes, which QEMU takes and respects. For a block device, the node that
// DEVNAME in sysfs names is locked. For a partition, its whole disk is locked first, by flock(2),
// as systemd's convention requires (https://systemd.io/BLOCK_DEVICE_LOCKING). udev does not open a
// disk that is locked in this way. A disk is left unlocked if it has no node or if this process may
// not open the node.
//
// A lock of an ancestor process counts as ours: `flock DEV` and `udevadm lock -d DEV` run a command
// under a lock that they hold.
//
// Programs that this process starts while it holds the lock inherit it. The lock is released when
// the last of them has ended.
class ImageLock {
 public:
  // Holds no lock, for commands that change nothing.
  ImageLock() = default;
  // The Error names the process that holds the lock, if /proc shows it.
  [[nodiscard]] static Result<ImageLock> take(const std::string& path);
  [[nodiscard]] bool held() const { return fd_.is_open(); }

 private:
  Fd disk_, fd_;
};

// The reason why a file system's bytes must not be changed: a mount or another program uses it.
struct InUse {
  bool mounted = false;  // mounted under this name in the mount namespace of this process
  Error refusal;         // says who uses the file system and what to do
};

// Looks for a mount (ext2fs_check_if_mounted), for a loop device on the file (if the path is a loop
// device, for another one on the same file), and for a program that has the block device open
// exclusively. The last check finds mounts in every mount namespace, because a mount opens its
// device exclusively. It opens the device with O_EXCL, so this process must not have it open that
// way. A path that does not exist is not in use. Returns an Error if it is unknown whether the path
// is mounted.
[[nodiscard]] Result<std::optional<InUse>> find_use(const std::string& path);

// Refuses a file system that is in use.
[[nodiscard]] Status check_not_in_use(const std::string& path);

// The Error for a block device that is open exclusively.
[[nodiscard]] Error held_error(const std::string& path);

}  // namespace e4r::lazyinit
