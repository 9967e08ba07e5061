// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// Watches and controls the kernel's thread on a mounted file system.
#include <chrono>
#include <cstdint>
#include <string>

#include "lazyinit/kernel_thread.h"
#include "lazyinit/target.h"
#include "lazyinit/verify.h"
#include "util/status.h"

namespace e4r::tools {

// Counts the initialised tables according to the kernel's descriptors: reading the device returns
// them as they are in the kernel's memory. Reads a descriptor with a wrong checksum again, because
// the kernel may be writing to it.
[[nodiscard]] Result<lazyinit::Inventory> look_at_mounted(lazyinit::Target& target);

// The pace of the kernel's thread, measured since the first call of text().
class Pacer {
 public:
  // Returns for example "1,234 groups with 2.4 GiB left; 12 groups in 10 s; 17 min 8 s left at that
  // pace".
  [[nodiscard]] std::string text(const lazyinit::Inventory& now);
  // The time since the last group was done.
  [[nodiscard]] std::chrono::duration<double> idle() const;
  // The number of groups without ITABLE_ZEROED at the first call of text().
  [[nodiscard]] std::uint64_t left_at_first() const { return first_left_; }

 private:
  using Clock = std::chrono::steady_clock;
  bool begun_ = false;
  std::uint64_t first_left_ = 0, last_left_ = 0;
  Clock::time_point start_, changed_;
};

// The number of groups without ITABLE_ZEROED.
[[nodiscard]] inline std::uint64_t left_of(const lazyinit::Inventory& i) {
  return i.groups - i.zeroed;
}

// For status --watch: prints a line every `seconds`, until nothing is left or a signal comes.
// Returns the exit status.
[[nodiscard]] Result<int> watch_mounted(const std::string& path, std::uint64_t seconds);

struct MountedFinish {
  std::uint32_t multiplier = 0;
  bool dry_run = false;
  bool no_progress = false;
};
// For finish: lets the kernel zero tables without a pause, or with this multiplier, and waits until
// all are zeroed. Restores the mount's option, even if a signal stops the command. Returns the exit
// status.
[[nodiscard]] Result<int> finish_mounted(const std::string& path,
                                         const lazyinit::MountedAt& mounted,
                                         const MountedFinish& options);

}  // namespace e4r::tools
