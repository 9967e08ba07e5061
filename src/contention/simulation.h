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
// A decision stays what it is, but for a group whose lock is only tried (Linux 6.17 and later): who
// finds it taken goes on to the next group by number, and is served there as it would have been
// here.
//
// Left out: what one CPU's caches cost another; every lock outside fs/ext4/mballoc.c, so a journal
// that is full or a directory that is locked counts as thinking; the time of frees.
namespace e4r::contention {

// What the writers ask for.
class Requests {
 public:
  virtual ~Requests() = default;
  // How long the writer thinks before its next request; nothing: it has none left.
  [[nodiscard]] virtual Result<std::optional<std::uint64_t>> think_ns(unsigned writer) = 0;
  // Serves that request on a CPU, with the state as it is now. Returns what that did to locks,
  // valid until the next call: one request of the notes after the other.
  [[nodiscard]] virtual Result<const allocator::LockNotes*> serve(unsigned writer,
                                                                  unsigned cpu) = 0;
};

struct Machine {
  // How many locks the groups share (NR_BG_LOCKS of a kernel for 32 CPUs or more).
  static constexpr std::uint32_t kGroupLocks = 128;
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

// `writers` and `cpus`: at least 1. The same outcome for the same answers of `requests`; the Error
// is theirs.
[[nodiscard]] Result<Outcome> simulate(Requests& requests, unsigned writers, unsigned cpus);

}  // namespace e4r::contention
