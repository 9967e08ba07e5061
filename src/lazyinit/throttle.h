// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>

#include "lazyinit/zeroer.h"

namespace e4r::lazyinit {

// Time as a throttle sees it; a test has its own.
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

// Holds threads to a Pace. Sleeps are cut into slices of at most 100 ms, between which `stop` is
// looked at. Thread-safe; `pace`, `stop` and `clock` must outlive the object.
class Throttle {
 public:
  Throttle(const Pace& pace, const std::atomic<bool>* stop, Clock& clock = system_clock());

  // Before `bytes` of table: waits while pace.paused() says so, calling `on_pause` once first, then
  // until max_rate allows. Unused time is not saved up: after a pause there is no burst.
  void before(std::uint64_t bytes, const std::function<void()>& on_pause);
  // Gives back what before() was told of and what was not written after all: holes, and tables that
  // were zero.
  void give_back(std::uint64_t bytes);
  // After a group that took `time`: sleeps wait_multiplier times that.
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

// Puts the calling thread, and those that it starts, into the idle class of I/O and at the lowest
// CPU priority.
void become_idle();

}  // namespace e4r::lazyinit
