// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <span>
#include <vector>

#include "exports/decisions.h"
#include "stats/space_history.h"

// What a comparison decided, over the trace's time, for Perfetto (docs/data.md).
namespace e4r::exports {

// A series and the free space of its run.
struct Timeline {
  Series series;
  const stats::SpaceHistory* space = nullptr;          // on the way; null: nobody kept it
  const std::vector<stats::GroupFree>* end = nullptr;  // of the groups; null: not known
};

// Writes a trace of Perfetto: a process for each series, in it a track for each thread with a slice
// for each request, and counters of free clusters and of free extents within groups. A slice begins
// when the request was recorded, or where the slice before it on its track ends. It lasts as long
// as slice_ns() says. `start`: the free space of the groups before the trace.
[[nodiscard]] Status write_perfetto(const OutputName& name, std::span<const Timeline> timelines,
                                    const std::vector<stats::GroupFree>& start);

// How long the slice of a request is, in nanoseconds: what a kernel's code took; of the recorded
// kernel, from request to answer; of a model, which nobody times, one for each step, a group
// considered or an extent examined.
[[nodiscard]] std::uint64_t slice_ns(const Series& series, const replay::DecisionRow& row);

}  // namespace e4r::exports
