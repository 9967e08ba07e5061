// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "ext4/geometry.h"
#include "trace/event.h"
#include "util/status.h"

namespace e4r::replay {

// The part of a FITRIM call for one group, as recorded: an ext4_trim_all_free event and the
// ext4_discard_blocks events of its thread that follow. No event records the FITRIM's minlen. The
// length of the shortest run that the call discarded is used instead, because the call discarded
// all runs of a group that were at least that long.
struct RecordedTrim {
  std::uint32_t call = 0;    // the number of the FITRIM, from 0
  std::uint32_t minlen = 0;  // clusters
  std::uint64_t sent = 0;    // number of runs discarded in this group
};

// Returns the trims of the whole trace. The index of a trim is the Op::request of its trim_group
// operation minus 1. A trim belongs to the same call as the thread's previous one if its group is
// later and both groups are trimmed whole. If the trace has no ext4_discard_blocks, every run
// counts as long enough. `warm` says that the file system had been mounted before the trace. A
// group of such a file system may have been trimmed before the trace. This is assumed if the first
// trim of the group discards nothing and the trace has freed no clusters in the group before. Then
// none of the group's runs counts as long enough.
[[nodiscard]] Result<std::vector<RecordedTrim>> recorded_trims(trace::EventSource& events,
                                                               const Geometry& geometry,
                                                               bool discards_recorded, bool warm);

}  // namespace e4r::replay
