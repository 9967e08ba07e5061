// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>

#include "util/status.h"

namespace e4r::record {

// The trace clocks that this process can also read. It compares them with event times to know which
// events are complete.
enum class TraceClock : std::uint8_t { mono, mono_raw, boot };
[[nodiscard]] Result<TraceClock> parse_clock(const std::string& name);
[[nodiscard]] const char* clock_name(TraceClock clock);
// The current time in nanoseconds.
[[nodiscard]] std::uint64_t read_clock(TraceClock clock);

}  // namespace e4r::record
