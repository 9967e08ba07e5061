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

// The work that is left for the kernel's lazy-init thread in a file system.
struct LazyInitProgress {
  std::uint64_t groups_left = 0;                      // groups whose inode tables are not zeroed
                                                      // yet
  bool runs = false;                                  // false if the mount has noinit_itable
  std::optional<double> groups_per_s = std::nullopt;  // over the last minute
  // The time needed at that rate.
  [[nodiscard]] std::optional<double> seconds_left() const;
};

// The number of groups whose inode tables the kernel would zero: those without INODE_ZEROED. The
// kernel looks at that flag only in file systems with group checksums (ext4_has_uninit_itable() and
// ext4_init_inode_table(), Linux 6.12).
[[nodiscard]] std::uint64_t uninitialised_groups(const image::Image& image);

// Whether these comma-separated mount options let the thread run. The kernel lists noinit_itable
// among them.
[[nodiscard]] bool lets_lazy_init_run(const std::string& mount_options);

// Computes how fast a count decreases.
class LazyInitPace {
 public:
  using Clock = std::chrono::steady_clock;
  void see(Clock::time_point now, std::uint64_t groups_left);
  // Groups per second since the oldest count of the last minute. Nothing if the count did not
  // decrease.
  [[nodiscard]] std::optional<double> groups_per_s() const;

 private:
  std::deque<std::pair<Clock::time_point, std::uint64_t>> seen_;
};

// Follows the thread's work on a mounted file system. ext4 keeps group descriptors in the page
// cache of the device, so reading the device returns their current values without disk access.
class LazyInit {
 public:
  // Begins with a start image of the volume.
  void start(const image::Image& image, const record::Volume& volume);
  // Takes over what has been read, and starts to read the descriptors again if that is due: once a
  // second, or less often so that it takes at most a fiftieth of a CPU. Never reads again once all
  // tables are zeroed. Does not wait.
  void look();
  // Empty before the first start image.
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
