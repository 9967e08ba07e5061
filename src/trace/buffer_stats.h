// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string_view>

namespace e4r::trace {

// The events that the ring buffer of one CPU has lost, by its per_cpu/cpuN/stats in tracefs
// (tracing_stats_read, Linux 6.1): overwritten before they were read, or not stored.
[[nodiscard]] std::uint64_t lost_by_stats(std::string_view stats);

}  // namespace e4r::trace
