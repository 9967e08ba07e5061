// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// Internal to src/lazyinit: finds who has locked a file, if /proc shows it.
#include <sys/stat.h>

#include <cstdint>
#include <string>

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

}  // namespace e4r::lazyinit
