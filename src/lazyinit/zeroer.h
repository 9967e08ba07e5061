// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>

#include "lazyinit/tables.h"
#include "util/status.h"

namespace e4r::lazyinit {

// The speed of zero_tables().
struct Pace {
  std::uint32_t wait_multiplier = 0;  // after each group, sleep N x the time it took; 0: no sleep.
                                      // Per group and measured each time, unlike Linux 6.1's
                                      // thread. Each thread by itself
  std::uint64_t max_rate = 0;         // bytes zeroed per second, holes not counted; 0: no limit
  bool idle = false;                  // ionice idle class and the lowest CPU priority
  std::function<bool()> paused;       // asked before each group; true: wait a second, ask again
};

// The most bytes of tables in one request. `stop` is checked between two requests.
inline constexpr std::uint64_t kMostAtOnce = 256u << 20;

struct ZeroOptions {
  unsigned threads = 1;
  ZeroBy by = ZeroBy::cheapest;
  bool probe = false;                    // read first; what reads as zeros is marked, not written
  bool flagged_too = false;              // groups with the flag are not passed over
  std::uint64_t sync_every = 64u << 20;  // bytes of table between two syncs with flag updates
  Pace pace = {};
  const std::atomic<bool>* stop = nullptr;  // ends cleanly after the groups under way
};

struct ZeroProgress {
  std::uint32_t groups_done = 0, groups_total = 0;
  std::uint64_t bytes_done = 0, bytes_total = 0;  // of tables
};

struct ZeroOutcome {
  std::uint32_t zeroed = 0;         // groups made zero
  std::uint32_t found_zero = 0;     // groups that probing found to be zero
  std::uint32_t unreadable = 0;     // groups where probing hit a read error; zeroed, not believed
  std::uint64_t bytes_written = 0;  // sent as data
  std::uint64_t bytes_zeroed = 0;   // by zero_range or write_zeroes
  std::uint64_t bytes_avoided = 0;  // of tables that were found zero, holes, or lie in used parts
  bool stopped = false;             // `stop` was set before all were done
};

// Makes the unused part of each given group's table zero and sets its ZEROED flag. A flag reaches
// the target only after its table is durable: the order is zero, sync, descriptors, and the next
// sync makes the descriptors durable. So the file system is consistent after a crash at any
// instant, and another call finishes the rest. A table that was found zero is synced too, since
// another process may have written the zeros just now. Groups that have the flag are passed over
// unless the options say otherwise. After an Error the groups that were flushed before stay done.
//
// Neighbouring tables (all of a flex_bg) are one request, up to sync_every or kMostAtOnce,
// whichever is less. With a pace, each table is a request of its own.
//
// With a wait multiplier every group is synced within the measured time, as in Linux
// (ext4_init_inode_table() flushes the device, 6.1 fs/ext4/ialloc.c). Else the page cache would
// take everything at once and nothing would be slowed down. One thread at a time calls `progress`
// and `paused`. A file system without group checksums, or a group that does not exist, is an Error.
[[nodiscard]] Result<ZeroOutcome> zero_tables(
    Target& target, Tables& tables, std::span<const std::uint32_t> groups,
    const ZeroOptions& options, const std::function<void(const ZeroProgress&)>& progress = {});

}  // namespace e4r::lazyinit
