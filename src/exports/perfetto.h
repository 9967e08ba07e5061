// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <span>
#include <vector>

#include "exports/decisions.h"
#include "stats/free_extents.h"

// Exports the decisions of a comparison over the trace's time, for Perfetto (docs/data.md).
namespace e4r::exports {

// A series and the free space of its run.
struct Timeline {
  Series series;
  const stats::SpaceHistory* space = nullptr;          // free space during the run; null: not kept
  const std::vector<stats::GroupFree>* end = nullptr;  // free space of groups at the end, or null
};

// Fails if this build cannot write such traces.
[[nodiscard]] Status check_perfetto();

// Writes a trace for Perfetto. Each series is a process. It has a track for each thread, with a
// slice for each request, and counters of free clusters and of free extents within groups. A slice
// begins when its request was recorded, or when the previous slice on its track ends. Its length is
// the time that a kernel's code took, or for the recorded kernel the time from request to answer. A
// model is not timed: its slices have one nanosecond for each group considered and each extent
// examined. `start` is the free space of the groups before the trace.
[[nodiscard]] Status write_perfetto(const OutputName& name, std::span<const Timeline> timelines,
                                    const std::vector<stats::GroupFree>& start);

}  // namespace e4r::exports
