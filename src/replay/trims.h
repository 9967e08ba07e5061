// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "ext4/geometry.h"
#include "trace/source.h"
#include "util/status.h"

namespace e4r::replay {

// FITRIM at one group, as a trace has it: an ext4_trim_all_free and the ext4_discard_blocks of its
// thread that follow. No event has the minlen that FITRIM was called with. The shortest run that a
// call has sent stands for it: what it has sent of a group is then all that is as long.
struct RecordedTrim {
  std::uint32_t call = 0;    // the number of the FITRIM, from 0
  std::uint32_t minlen = 0;  // clusters
  std::uint64_t sent = 0;    // runs of this group
};

// Those of the whole trace, in the order of Op::request of Op::Kind::trim_group. A call goes on
// where a thread comes to a group behind the last one and both have been asked for whole. Where the
// trace has no ext4_discard_blocks, everything is long enough. `warm`: the file system had been
// mounted before the trace. A group of which nothing is sent was trimmed then, if the trace has
// freed nothing in it yet: nothing is long enough there.
[[nodiscard]] Result<std::vector<RecordedTrim>> recorded_trims(trace::EventSource& events,
                                                               const Geometry& geometry,
                                                               bool discards_recorded, bool warm);

}  // namespace e4r::replay
