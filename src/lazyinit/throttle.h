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

// Whether the machine runs on its battery: a battery of the machine (scope "Device" is a mouse's)
// says "Discharging", and no mains or USB supply is online. False if there is no such directory, or
// nothing can be read. (Documentation/ABI/testing/sysfs-class-power of Linux 6.1.)
[[nodiscard]] bool on_battery(const std::string& supplies = "/sys/class/power_supply");

// The time that a throttle sees. A test has its own clock.
class Clock {
 public:
  using Duration = std::chrono::nanoseconds;
  virtual ~Clock() = default;
  // Monotonic, from an arbitrary start.
  [[nodiscard]] virtual Duration now() = 0;
  virtual void sleep(Duration time) = 0;
};

// The clock of the machine.
[[nodiscard]] Clock& system_clock();

// Holds threads to a Pace. Sleeps are slices of at most 100 ms, and `stop` is checked between them.
// Thread-safe; `pace`, `stop` and `clock` must outlive the object.
class Throttle {
 public:
  Throttle(const Pace& pace, const std::atomic<bool>* stop, Clock& clock = system_clock());

  // Call it before `bytes` of a table. It waits while pace.paused() says so, after one call of
  // `on_pause`, and then until max_rate allows the bytes. Unused time is not saved up, so there is
  // no burst after a pause.
  void before(std::uint64_t bytes, const std::function<void()>& on_pause);
  // Returns bytes that before() has counted and that were not written after all: holes, and tables
  // that were zero.
  void give_back(std::uint64_t bytes);
  // Call it after a group that took `time`: it sleeps wait_multiplier times as long.
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
  Clock::Duration next_{0};  // when the bytes admitted so far will have been paid for
};

// Puts the calling thread, and the threads that it will start, into the idle class of I/O and at
// the lowest CPU priority.
void become_idle();

}  // namespace e4r::lazyinit
