// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "lazyinit/zeroer.h"

namespace e4r::lazyinit {

// Whether the machine runs on battery power: one of its own batteries reports "Discharging", and no
// mains or USB supply is online. A battery with scope "Device" belongs to a mouse or the like and
// does not count. False if the directory does not exist or nothing in it can be read.
// (Documentation/ABI/testing/sysfs-class-power of Linux 6.1.)
[[nodiscard]] bool on_battery(const std::string& supplies = "/sys/class/power_supply");

// The clock that a throttle uses. A test has its own.
class Clock {
 public:
  using Duration = std::chrono::nanoseconds;
  virtual ~Clock() = default;
  // Monotonic, from an arbitrary start.
  [[nodiscard]] virtual Duration now() = 0;
  virtual void sleep(Duration time) = 0;
};

// The machine's clock.
[[nodiscard]] Clock& system_clock();

// Limits threads to a Pace. Sleeps in slices of at most 100 ms, and checks `stop` between them.
// Thread-safe; `pace`, `stop` and `clock` must outlive the object.
class Throttle {
 public:
  Throttle(const Pace& pace, const std::atomic<bool>* stop, Clock& clock = system_clock());

  // Must be called before `bytes` of a table are zeroed. Waits while pace.paused() returns true,
  // after calling `on_pause` once, and then until max_rate allows the bytes. Unused time is not
  // saved up, so there is no burst after a pause.
  void before(std::uint64_t bytes, const std::function<void()>& on_pause);
  // Takes back bytes that before() has counted but that were not written: holes, and tables that
  // were already zero.
  void give_back(std::uint64_t bytes);
  // Must be called after a group that took `time`. Sleeps wait_multiplier times as long.
  void after(Clock::Duration time);

  [[nodiscard]] bool stopped() const { return stop_ != nullptr && *stop_; }
  [[nodiscard]] Clock& clock() { return clock_; }

 private:
  [[nodiscard]] bool paused();
  [[nodiscard]] Clock::Duration admit(std::uint64_t bytes);
  [[nodiscard]] Clock::Duration time_for(std::uint64_t bytes) const;
  void sleep_until(Clock::Duration end);

  const Pace& pace_;
  const std::atomic<bool>* stop_;
  Clock& clock_;
  std::mutex pause_mutex_;
  std::mutex rate_mutex_;
  Clock::Duration next_{0};  // when max_rate allows the next bytes
};

// Puts the calling thread, and all threads that it starts later, into the idle I/O class and at the
// lowest CPU priority.
void become_idle();

}  // namespace e4r::lazyinit
