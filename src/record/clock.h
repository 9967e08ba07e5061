// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>

#include "util/status.h"

namespace e4r::record {

// Clocks of a trace that this process can read as well: it needs to know what is over.
enum class TraceClock : std::uint8_t { mono, mono_raw, boot };
[[nodiscard]] Result<TraceClock> parse_clock(const std::string& name);
[[nodiscard]] const char* clock_name(TraceClock clock);
// Now, in nanoseconds.
[[nodiscard]] std::uint64_t read_clock(TraceClock clock);

}  // namespace e4r::record
