// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/throttle.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "util/file.h"

namespace e4r::lazyinit {
namespace {

std::string attribute(const std::filesystem::path& supply, const char* name) {
  return read_attribute((supply / name).string());
}

}  // namespace

bool on_battery(const std::string& supplies) {
  bool discharging = false;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(supplies, gone)) {
    const std::string type = attribute(entry.path(), "type");
    if (type == "Battery") {
      discharging |= attribute(entry.path(), "scope") != "Device" &&
                     attribute(entry.path(), "status") == "Discharging";
    } else if (attribute(entry.path(), "online") == "1") {
      return false;
    }
  }
  return discharging;
}

namespace {

constexpr Clock::Duration kSlice = std::chrono::milliseconds(100);
constexpr Clock::Duration kAskAgain = std::chrono::seconds(1);

// <linux/ioprio.h> of 6.1 does not compile as C++: it names a parameter `class`.
constexpr int kIoprioWhoProcess = 1;
constexpr int kIoprioIdle = 3 << 13;

class SystemClock : public Clock {
 public:
  Duration now() override { return std::chrono::steady_clock::now().time_since_epoch(); }
  void sleep(Duration time) override { std::this_thread::sleep_for(time); }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

Throttle::Throttle(const Pace& pace, const std::atomic<bool>* stop, Clock& clock)
    : pace_(pace), stop_(stop), clock_(clock) {}

void Throttle::sleep_until(Clock::Duration end) {
  for (auto now = clock_.now(); now < end && !stopped(); now = clock_.now())
    clock_.sleep(std::min(kSlice, end - now));
}

bool Throttle::paused() {
  const std::lock_guard lock(pause_mutex_);
  return pace_.paused && pace_.paused();
}

// Returns the time at which the bytes may start.
Clock::Duration Throttle::admit(std::uint64_t bytes) {
  const std::lock_guard lock(rate_mutex_);
  const auto start = std::max(clock_.now(), next_);
  next_ = start + time_for(bytes);
  return start;
}

Clock::Duration Throttle::time_for(std::uint64_t bytes) const {
  const double seconds = static_cast<double>(bytes) / static_cast<double>(pace_.max_rate);
  return std::chrono::duration_cast<Clock::Duration>(std::chrono::duration<double>(seconds));
}

void Throttle::give_back(std::uint64_t bytes) {
  if (pace_.max_rate == 0) return;
  const std::lock_guard lock(rate_mutex_);
  next_ -= time_for(bytes);
}

void Throttle::before(std::uint64_t bytes, const std::function<void()>& on_pause) {
  for (bool first = true; !stopped() && paused(); first = false) {
    if (first) on_pause();
    sleep_until(clock_.now() + kAskAgain);
  }
  if (pace_.max_rate != 0) sleep_until(admit(bytes));
}

void Throttle::after(Clock::Duration time) {
  if (pace_.wait_multiplier != 0) sleep_until(clock_.now() + time * pace_.wait_multiplier);
}

void become_idle() {
  (void)::setpriority(PRIO_PROCESS, 0, 19);
  (void)::syscall(SYS_ioprio_set, kIoprioWhoProcess, 0, kIoprioIdle);
}

}  // namespace e4r::lazyinit
