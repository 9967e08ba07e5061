// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/lock_steps.h"
#include "util/status.h"

// What would become of recorded requests if many writers made them at the same time: a simulation
// by discrete events.
//
// Each writer makes the requests for its own files, in the recorded order. Before a request it
// thinks for as long as the recorded machine did. Then the allocator decides, with the state as it
// is at that time, and the writer does what the allocator's code did: it computes, takes locks and
// lets them go. Who finds a lock taken waits, first come, first served.
// Who only tries a group's lock (Linux 6.17 and later) decides without the groups whose locks are
// held by the time its search comes to them. A decision then stays what it is. Who finds the lock
// of its group taken all the same goes on to the next group by number, and is served there as it
// would have been here.
//
// A group that another CPU has used last costs more: its cache lines come from that CPU, and go
// back and forth while both are at work. Left out: what else one CPU's caches cost another; every
// lock outside fs/ext4/mballoc.c, so a journal that is full or a directory that is locked counts as
// thinking; the locks of frees.
namespace e4r::contention {

// What became of a request.
struct Served {
  // What it did to locks, valid until the next one is served: one part after the other.
  const allocator::LockNotes* notes = nullptr;
  std::uint64_t left = 0;  // groups that its search left, since their lock was held
};

// What the writers ask for.
class Requests {
 public:
  virtual ~Requests() = default;
  // How long the writer thinks before its next request; nothing: it has none left.
  [[nodiscard]] virtual Result<std::optional<std::uint64_t>> think_ns(unsigned writer) = 0;
  // Serves that request on a CPU, with the state as it is now. `held`: what others will hold when
  // its search comes to a group.
  [[nodiscard]] virtual Result<Served> serve(unsigned writer, unsigned cpu,
                                             const allocator::HeldLocks& held) = 0;
};

// What it costs to search in a group, or to mark clusters in it, where another CPU was the last to
// do so: while the group's lock is held, and for what is not under it.
struct MovedLines {
  std::uint64_t held_ns, unlocked_ns;
};
// Of two processes in one group, on a machine where a cache line takes 180 ns to come from the
// other CPU (docs/many-writers.md says how it was measured).
inline constexpr MovedLines kMeasuredLines = {.held_ns = 750, .unlocked_ns = 1200};

struct Machine {
  unsigned cpus = 1;
  MovedLines moved = kMeasuredLines;
  // How long a writer runs before another one that is waiting for a CPU (EEVDF's base slice).
  static constexpr std::uint64_t kSliceNs = 3'000'000;
};

struct Waits {
  std::uint64_t count = 0;
  std::uint64_t ns = 0;  // of all who waited
};

struct Outcome {
  unsigned writers = 0, cpus = 0;
  std::uint64_t requests = 0;  // that were served
  bool deadlocked = false;     // some never were: their writers wait for each other
  std::uint64_t ns = 0;        // from the first to the last
  std::uint64_t busy_ns = 0;   // of all writers: thinking and in the allocator
  std::uint64_t evasions = 0;  // groups that were left for another one, since their lock was taken
  std::uint64_t cpu_wait_ns = 0;  // of all writers, for a CPU
  struct LockWaits {
    std::string name;
    Waits waits;
  };
  std::vector<LockWaits> waits;  // for locks of a name, those of most time first
  [[nodiscard]] Waits all_waits() const;
  // Of what the writers did and waited for, but for a CPU: from 0 to 1.
  [[nodiscard]] double share_waited(const Waits& waits) const;
  [[nodiscard]] double requests_per_second() const;
};

// `writers` and the machine's CPUs: at least 1. The same outcome for the same answers of
// `requests`; the Error is theirs.
[[nodiscard]] Result<Outcome> simulate(Requests& requests, unsigned writers,
                                       const Machine& machine);

}  // namespace e4r::contention
