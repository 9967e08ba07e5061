// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// Internal to src/lazyinit: who has locked a file, as far as /proc tells.
#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace e4r::lazyinit {

enum class LockKind : std::uint8_t {
  whole,  // flock(2)
  range,  // fcntl(2): of a process, or of an open file description as QEMU has them
};

// What is not known is empty.
struct LockHolder {
  std::string pid;
  std::string command;

  // udev locks a device for a moment, and a process that ends has the lock for longer than its
  // command line.
  [[nodiscard]] bool ends_soon() const;
  // "process 12 (qemu-system-x86_64 -drive ...)"
  [[nodiscard]] std::string text() const;
};

// One of those who have a lock on the inode.
[[nodiscard]] LockHolder holder_of(const struct stat& st, LockKind kind);

// Whether this process, or one that it descends from, has all of the inode locked for itself alone
// (flock(1), udevadm-lock(1), a shell that has locked one of its descriptors): the lock is held for
// what this process does. A shared lock is not enough: others may have that too.
[[nodiscard]] bool is_locked_for_us(const struct stat& st, LockKind kind);

}  // namespace e4r::lazyinit
