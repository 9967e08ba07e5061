// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/observer.h"
#include "util/status.h"

// Simulates, by discrete events, what recorded requests would cost if many writers made them at the
// same time.
// Each writer makes the requests for its own files, in the recorded order. Before a request it
// thinks, and frees what is to be freed. Then the allocator decides with the state of that time,
// and the writer does what the allocator's code did: it computes, takes locks and releases them. A
// writer that finds a lock taken waits; the first to come is served first. A search that only tries
// a group's lock (Linux 6.12.77 and 6.17) decides without the groups whose locks are held by the
// time it comes to them. The decision then stays as it is. If the lock of its group turns out to be
// taken after all, the writer goes on to the next group by number and is served there as it would
// have been here. A group that another CPU used last costs more: its cache lines come from that
// CPU, and go back and forth while both are at work. Left out are other costs that CPUs impose on
// each other's caches; every lock outside fs/ext4/mballoc.c, so a full journal or a locked
// directory counts as thinking; and the locks that a commit takes, when freed clusters go back to
// their groups.
namespace e4r::contention {

// The outcome of a request.
struct Served {
  // Its lock operations, one part after the other. Valid until the next request is served.
  const allocator::LockNotes* notes = nullptr;
  std::uint64_t left = 0;  // groups that its search passed over because their locks were held
};

// How long writers think before a request.
struct Pace {
  std::optional<std::uint64_t> think_ns;  // on average; empty: as long as the recorded machine did
  double scale = 1;                       // of the recorded pauses
};

// The source of the writers' requests.
class Requests {
 public:
  virtual ~Requests() = default;
  // How long the writer thinks before its next request; empty if it has no request left.
  [[nodiscard]] virtual Result<std::optional<std::uint64_t>> think_ns(unsigned writer) = 0;
  // Does what the writer does between thinking and that request, such as frees: its lock
  // operations, valid until the next call. Null: nothing.
  [[nodiscard]] virtual Result<const allocator::LockNotes*> prepare(unsigned /*writer*/) {
    return static_cast<const allocator::LockNotes*>(nullptr);
  }
  // Serves that request on a CPU, with the current state. `held`: the locks that others will hold
  // when its search comes to a group.
  [[nodiscard]] virtual Result<Served> serve(unsigned writer, unsigned cpu,
                                             const allocator::HeldLocks& held) = 0;
};

// The cost of searching in a group, or of marking clusters in it, if another CPU did so last: under
// the group's lock, and outside it.
struct MovedLines {
  std::uint64_t held_ns, unlocked_ns;
};
// For two processes in one group, on a machine where a cache line takes 180 ns to come from the
// other CPU. docs/many-writers.md says how it was measured.
inline constexpr MovedLines kMeasuredLines = {.held_ns = 750, .unlocked_ns = 1200};

struct Machine {
  unsigned cpus = 1;
  MovedLines moved = kMeasuredLines;
  // How long a writer runs before it yields to one that waits for a CPU (EEVDF's base slice).
  static constexpr std::uint64_t kSliceNs = 3'000'000;
};

struct Waits {
  std::uint64_t count = 0;
  std::uint64_t ns = 0;  // of all waiting writers
};

struct SimulationOutcome {
  unsigned writers = 0, cpus = 0;
  std::uint64_t requests = 0;  // served requests
  bool deadlocked = false;     // some requests were never served: their writers wait for each other
  std::uint64_t ns = 0;        // from the first to the last request
  std::uint64_t busy_ns = 0;   // thinking and in the allocator, of all writers
  std::uint64_t think_ns = 0;  // thinking, of all writers
  std::uint64_t evasions = 0;  // groups passed over because their lock was taken
  std::uint64_t cpu_wait_ns = 0;  // waiting for a CPU, of all writers
  struct LockWaits {
    std::string name;
    Waits waits;
  };
  std::vector<LockWaits> waits;  // by lock name, longest total wait first
  [[nodiscard]] Waits all_waits() const;
  // The share of the writers' time, without waits for a CPU, that they spent in these waits: 0 to
  // 1.
  [[nodiscard]] double share_waited(const Waits& waits) const;
  [[nodiscard]] double requests_per_second() const;
};

// `writers` and the machine's CPUs: at least 1. Equal answers of `requests` give an equal outcome.
// The Error comes from `requests`.
[[nodiscard]] Result<SimulationOutcome> simulate(Requests& requests, unsigned writers,
                                                 const Machine& machine);

}  // namespace e4r::contention
