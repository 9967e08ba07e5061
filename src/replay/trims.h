// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "ext4/geometry.h"
#include "trace/event.h"
#include "util/status.h"

namespace e4r::replay {

// FITRIM at one group, as a trace shows it: an ext4_trim_all_free and the ext4_discard_blocks
// events of its thread that follow. No event has the minlen of the FITRIM. The shortest run that a
// call has sent stands for it: then the call has sent all runs of a group that are as long.
struct RecordedTrim {
  std::uint32_t call = 0;    // the number of the FITRIM, from 0
  std::uint32_t minlen = 0;  // clusters
  std::uint64_t sent = 0;    // runs of this group
};

// The trims of the whole trace, in the order of Op::request of Op::Kind::trim_group. A call
// continues when its thread comes to a later group and both groups are trimmed whole. If the trace
// has no ext4_discard_blocks, every run is long enough. `warm`: the file system had been mounted
// before the trace. Then a group of which nothing is sent had been trimmed before, unless the trace
// has freed something in it, and no run of it is long enough.
[[nodiscard]] Result<std::vector<RecordedTrim>> recorded_trims(trace::EventSource& events,
                                                               const Geometry& geometry,
                                                               bool discards_recorded, bool warm);

}  // namespace e4r::replay
