// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

#include "util/status.h"

namespace e4r {

inline constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB;

// Parses a size in bytes: a decimal number, optionally with a fraction, and an optional suffix
// K, M, G or T (powers of 1024, either case, optionally followed by "B" or "iB"): "4K", "8M",
// "1.5G", "4096". The Error quotes the text and lists the accepted forms.
[[nodiscard]] Result<std::uint64_t> parse_size(std::string_view text);

// Parses a duration: decimal numbers with the units ms, s, m, h or d, added up ("90s", "1.5h",
// "1h30m", "500ms"). A number without a unit is in seconds. The Error quotes the text and lists the
// accepted forms.
[[nodiscard]] Result<std::chrono::milliseconds> parse_duration(std::string_view text);

// Parses a short time, at most a day: decimal numbers with the units ns, us, ms or s, added up
// ("80us", "1.5ms"), or "0". The Error quotes the text and lists the accepted forms.
[[nodiscard]] Result<std::chrono::nanoseconds> parse_pause(std::string_view text);

// Parses a decimal number of at most 64 bits, with nothing before or after it.
[[nodiscard]] Result<std::uint64_t> parse_u64(std::string_view text);

// Formats a size: "512 B", "4.0 KiB", "1.5 GiB". From KiB up, it has one digit after the decimal
// point.
[[nodiscard]] std::string format_size(std::uint64_t bytes);

// Formats a time: "2026-01-31T23:59:59Z".
[[nodiscard]] std::string format_utc(std::time_t time);

// Formats 1234567 as "1,234,567", for tables that people read.
[[nodiscard]] std::string format_count(std::uint64_t n);

}  // namespace e4r
