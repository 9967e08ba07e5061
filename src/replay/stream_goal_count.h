// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

#include "trace/source.h"
#include "util/status.h"

namespace e4r::replay {

// How many stream goals a kernel of 6.17 or later had: the number of possible CPUs, or a quarter of
// the groups if that is less.
struct StreamGoalCount {
  std::uint32_t goals = 0;      // the fewest that explain most searches; 0: nothing to explain
  std::uint64_t explained = 0;  // searches whose goal is where that goal's last search ended
  std::uint64_t searches = 0;   // searches for streams
};

// Works it out from the searches of a trace, which show which inodes share a goal. Tries at most
// 256 goals.
[[nodiscard]] Result<StreamGoalCount> count_stream_goals(trace::EventSource& events,
                                                         std::uint32_t groups);

}  // namespace e4r::replay
