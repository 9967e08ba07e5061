// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <future>
#include <optional>
#include <string>
#include <utility>

#include "image/image.h"
#include "record/volume.h"
#include "util/status.h"

namespace e4r::watch {

// What the kernel's lazy-init thread still has to do for a file system.
struct LazyInitProgress {
  std::uint64_t groups_left = 0;                      // whose inode tables are not zeroed yet
  bool runs = false;                                  // false: the mount has noinit_itable
  std::optional<double> groups_per_s = std::nullopt;  // over the last minute
  // At that rate.
  [[nodiscard]] std::optional<double> seconds_left() const;
};

// The groups whose inode tables the kernel would zero: those without INODE_ZEROED. It looks at that
// flag in file systems with checksums of groups alone (ext4_has_uninit_itable() and
// ext4_init_inode_table(), Linux 6.12).
[[nodiscard]] std::uint64_t uninitialised_groups(const image::Image& image);

// Whether these mount options, comma-separated, let the thread run. The kernel shows noinit_itable.
[[nodiscard]] bool lets_lazy_init_run(const std::string& mount_options);

// Counts seen at moments, and how fast they fall.
class LazyInitPace {
 public:
  using Clock = std::chrono::steady_clock;
  void see(Clock::time_point now, std::uint64_t groups_left);
  // Groups a second since the oldest count of the last minute; nothing if none went.
  [[nodiscard]] std::optional<double> groups_per_s() const;

 private:
  std::deque<std::pair<Clock::time_point, std::uint64_t>> seen_;
};

// Follows the thread's work on a mounted file system. ext4 keeps group descriptors in the page
// cache of the device, so reading the device shows them as they are now, without waiting for it.
class LazyInit {
 public:
  // From a start image of the volume on.
  void start(const image::Image& image, const record::Volume& volume);
  // Takes over what was read, and begins to read the descriptors again if that is due: every
  // second, or so rarely that it takes a fiftieth of a CPU. Never once all tables are zeroed. Does
  // not wait.
  void look();
  // Nothing before the first start image.
  [[nodiscard]] const std::optional<LazyInitProgress>& progress() const { return progress_; }

 private:
  using Clock = LazyInitPace::Clock;
  struct Reading {
    Result<std::uint64_t> groups_left;
    Clock::time_point began, ended;
  };
  [[nodiscard]] static Reading read(const std::string& device);
  void note(Clock::time_point now, std::uint64_t groups_left);

  std::string device_;
  std::optional<LazyInitProgress> progress_;
  LazyInitPace pace_;
  Clock::time_point due_;
  std::future<Reading> reading_;
};

}  // namespace e4r::watch
