// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>

#include "lazyinit/tables.h"
#include "util/status.h"

namespace e4r::lazyinit {

// The speed of zero_tables().
struct Pace {
  std::uint32_t wait_multiplier = 0;  // after each group, sleep N x the time that this group took;
                                      // 0: no sleep. Unlike Linux 6.1's thread, zero_tables()
                                      // measures every group, and each of its threads measures its
                                      // own
  std::uint64_t max_rate = 0;         // bytes zeroed per second, not counting holes; 0: no limit
  bool idle = false;                  // ionice idle class and the lowest CPU priority
  std::function<bool()> paused;       // asked before each group; if it returns true, zeroing waits
                                      // a second and asks again
};

// The most bytes of tables in one request. `stop` is checked between two requests.
inline constexpr std::uint64_t kMostAtOnce = 256u << 20;

struct ZeroOptions {
  unsigned threads = 1;
  ZeroBy by = ZeroBy::cheapest;
  bool probe = false;  // reads each table first; a table that reads as zeros is marked, not written
  bool flagged_too = false;              // also zeroes groups flagged ITABLE_ZEROED
  std::uint64_t sync_every = 64u << 20;  // bytes of tables between two syncs with flag updates
  Pace pace = {};
  const std::atomic<bool>* stop = nullptr;  // once true, zeroing ends after the current groups
};

struct ZeroProgress {
  std::uint32_t groups_done = 0, groups_total = 0;
  std::uint64_t bytes_done = 0, bytes_total = 0;  // bytes of tables
};

struct ZeroOutcome {
  std::uint32_t zeroed = 0;         // groups that were zeroed
  std::uint32_t found_zero = 0;     // groups that probing found to be zero
  std::uint32_t unreadable = 0;     // groups where probing met a read error; they were zeroed
  std::uint64_t bytes_written = 0;  // written as data
  std::uint64_t bytes_zeroed = 0;   // zeroed by zero_range or write_zeroes
  std::uint64_t bytes_avoided = 0;  // bytes of tables that were found to be zero, were holes, or
                                    // are in used parts
  bool stopped = false;             // `stop` was set before all groups were done
};

// Zeroes the unused part of each given group's table and sets the group's ZEROED flag. A flag
// reaches the target only after its table is durable: the order is zero, sync, descriptors, and the
// next sync makes the descriptors durable. So the file system is consistent after a crash at any
// instant, and another call finishes the work. A table that was found to be zero is synced, too,
// because another process may just have written the zeros. Groups flagged ITABLE_ZEROED are skipped
// unless the options say otherwise. After an Error, groups that were flushed before it stay done.
//
// Adjacent tables (all of a flex_bg) are one request, up to the smaller of sync_every and
// kMostAtOnce. With a pace, each table is a separate request.
//
// With a wait multiplier every group is synced within the measured time, as in Linux
// (ext4_init_inode_table() flushes the device, 6.1 fs/ext4/ialloc.c). Otherwise the page cache
// would accept all writes at once, and the multiplier would slow nothing down. Calls `progress` and
// `paused` from one thread at a time. A file system without group checksums, or a group that does
// not exist, is an Error.
[[nodiscard]] Result<ZeroOutcome> zero_tables(
    Target& target, Tables& tables, std::span<const std::uint32_t> groups,
    const ZeroOptions& options, const std::function<void(const ZeroProgress&)>& progress = {});

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
