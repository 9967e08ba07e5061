// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/observer.h"
#include "util/status.h"

// A discrete-event simulation of what recorded requests would cost if many writers made them at the
// same time. Each writer makes the requests for its own files, in the recorded order. Before a
// request, it thinks and does the recorded frees. Then the allocator decides in the current state,
// and the writer repeats the steps of the allocator's code: it computes, takes locks and releases
// them. A writer that finds a lock taken waits; waiters are served in order of arrival. A search
// that only tries a group's lock (Linux 6.12.77 and 6.17) skips the groups whose locks will be held
// when it reaches them. The decision is then fixed: if the lock of the chosen group proves to be
// taken after all, the writer takes the same steps in the next group by number. A group that
// another CPU used last costs more, because its cache lines come from that CPU and move back and
// forth while both use it. The simulation omits three things: other cache effects between CPUs; the
// locks outside fs/ext4/mballoc.c, so waiting for a full journal or a locked directory counts as
// thinking; and the locks that a commit takes to return freed clusters to their groups.
namespace e4r::contention {

// The result of serving a request.
struct Served {
  // Its lock operations, in one or more parts. Valid until the next request is served.
  const allocator::LockNotes* notes = nullptr;
  std::uint64_t left = 0;  // groups that its search passed over because their locks were held
};

// The think time of writers before a request.
struct Pace {
  std::optional<std::uint64_t> think_ns;  // mean; nullopt: as recorded
  double scale = 1;                       // factor for the recorded pauses
};

// The source of the writers' requests.
class Requests {
 public:
  virtual ~Requests() = default;
  // The writer's think time before its next request; nullopt if it has no request left.
  [[nodiscard]] virtual Result<std::optional<std::uint64_t>> think_ns(unsigned writer) = 0;
  // Does the writer's work between thinking and that request, such as frees. Returns its lock
  // operations, valid until the next call, or null if there was no work.
  [[nodiscard]] virtual Result<const allocator::LockNotes*> prepare(unsigned /*writer*/) {
    return static_cast<const allocator::LockNotes*>(nullptr);
  }
  // Serves that request on a CPU in the current state. `held` are the locks that others will hold
  // when its search reaches a group.
  [[nodiscard]] virtual Result<Served> serve(unsigned writer, unsigned cpu,
                                             const allocator::HeldLocks& held) = 0;
};

// The extra time that it takes to search a group, or to mark clusters in it, if another CPU did so
// last: under the group's lock, and outside it.
struct MovedLines {
  std::uint64_t held_ns, unlocked_ns;
};
// Measured with two processes in one group, on a machine that takes 180 ns to fetch a cache line
// from the other CPU. docs/many-writers.md describes the measurement.
inline constexpr MovedLines kMeasuredLines = {.held_ns = 750, .unlocked_ns = 1200};

struct Machine {
  unsigned cpus = 1;
  MovedLines moved = kMeasuredLines;
  // The time that a writer runs before it yields to one that waits for a CPU (EEVDF's base slice).
  static constexpr std::uint64_t kSliceNs = 3'000'000;
};

struct Waits {
  std::uint64_t count = 0;
  std::uint64_t ns = 0;  // total of all waiting writers
};

struct SimulationOutcome {
  unsigned writers = 0, cpus = 0;
  std::uint64_t requests = 0;     // served requests
  bool deadlocked = false;        // some writers wait for each other forever
  std::uint64_t ns = 0;           // time from the first to the last request
  std::uint64_t busy_ns = 0;      // time in the allocator and thinking, total of all writers
  std::uint64_t think_ns = 0;     // time thinking, total of all writers
  std::uint64_t evasions = 0;     // groups that were passed over because their lock was taken
  std::uint64_t cpu_wait_ns = 0;  // time waiting for a CPU, total of all writers
  struct LockWaits {
    std::string name;
    Waits waits;
  };
  std::vector<LockWaits> waits;  // by lock name, longest total wait first
  [[nodiscard]] Waits all_waits() const;
  // The share of these waits in the writers' total time, from 0 to 1. Waits for a CPU are not part
  // of the total.
  [[nodiscard]] double share_waited(const Waits& waits) const;
  [[nodiscard]] double requests_per_second() const;
};

// The number of `writers` and the number of CPUs of the machine must be at least 1. Equal answers
// from `requests` give an equal outcome. The Error comes from `requests`.
[[nodiscard]] Result<SimulationOutcome> simulate(Requests& requests, unsigned writers,
                                                 const Machine& machine);

}  // namespace e4r::contention
