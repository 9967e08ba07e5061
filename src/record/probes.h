// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "trace/summary.h"
#include "util/status.h"

namespace e4r::record {

// Kernel probes (kprobes) of mb_mark_used() and mb_free_blocks(), which take clusters out of a
// group's buddy and give them back. The kernel calls both with the group's lock held. So their
// order is the order in which allocations and commits took effect, which no tracepoint shows. Their
// events are trace::EventKind::mark_used and mark_freed. Probes belong to the whole machine, so
// several recorders use the same ones. Movable.
class Probes {
 public:
  // Creates the probes, unless another recorder has created them. The Error says why the kernel
  // cannot have them: it lacks kprobes, or its compiler has inlined mb_mark_used(). A kernel
  // without mb_free_blocks() gets only the first probe.
  // Call it, and enable the events, in one turn (take_turn): another recorder may end meanwhile.
  [[nodiscard]] static Result<Probes> create();
  Probes(Probes&& other) noexcept : exist_(other.exist_) { other.exist_ = false; }
  Probes& operator=(Probes&& other) = delete;
  // Removes the probes in a turn of its own, unless another recorder uses them.
  ~Probes();

  // Removes the probes that killed recorders have left, unless a recorder uses them. Must be called
  // in a turn (take_turn).
  static void remove_unused();

 private:
  Probes() = default;
  bool exist_ = true;
};

// Whether the probes recorded nothing although there were searches. This happens if the kernel's
// structures differ from the structures that the filter of the events expects.
[[nodiscard]] inline bool saw_nothing(const trace::TraceSummary& events) {
  return events.count(trace::EventKind::mballoc_alloc) > 0 &&
         events.count(trace::EventKind::mark_used) == 0;
}

}  // namespace e4r::record
