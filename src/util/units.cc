// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/units.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

namespace e4r {
namespace {

// The power of 1024 that a suffix stands for; -1 for an unknown suffix.
int suffix_power(std::string_view suffix) {
  if (suffix.empty() || suffix == "B" || suffix == "b") return 0;
  const std::string_view letters = "kmgt";
  const char first = static_cast<char>(suffix[0] | 0x20);
  const auto at = letters.find(first);
  const std::string_view rest = suffix.substr(1);
  const bool tail_ok = rest.empty() || rest == "B" || rest == "b" || rest == "iB" || rest == "ib";
  return at == std::string_view::npos || !tail_ok ? -1 : static_cast<int>(at) + 1;
}

Error bad_size(std::string_view text) {
  return error(
      "'{}' is not a size: give a number with an optional K, M, G or T, such as 4K or 1.5G", text);
}

Error bad_duration(std::string_view text) {
  return error("'{}' is not a time: give one such as 90s, 10m, 1h30m or 500ms", text);
}

Error bad_pause(std::string_view text) {
  return error("'{}' is not a time: give one such as 80us, 1.5ms or 0", text);
}

struct TimeUnit {
  std::string_view name;
  double worth;
};

// Returns the sum of the numbers with units in the text. Empty if the text contains anything else.
std::optional<double> sum_of_times(std::string_view text, std::span<const TimeUnit> units) {
  double sum = 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const auto number_end = std::min(text.find_first_not_of("0123456789."), text.size());
    double number = 0;
    const auto [at, ec] = std::from_chars(text.data(), text.data() + number_end, number);
    if (ec != std::errc() || at != text.data() + number_end) return std::nullopt;
    text.remove_prefix(number_end);
    const std::string_view name =
        text.substr(0, std::min(text.find_first_of("0123456789."), text.size()));
    const auto unit = std::find_if(units.begin(), units.end(),
                                   [&](const TimeUnit& of) { return of.name == name; });
    if (unit == units.end()) return std::nullopt;
    sum += number * unit->worth;
    text.remove_prefix(name.size());
  }
  return sum;
}

}  // namespace

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  static constexpr std::array kUnits = {TimeUnit{"ms", 1},      TimeUnit{"s", 1e3},
                                        TimeUnit{"m", 60e3},    TimeUnit{"h", 3600e3},
                                        TimeUnit{"d", 86400e3}, TimeUnit{"", 1e3}};
  constexpr double kMost = 1e14;
  const std::optional<double> sum = sum_of_times(text, kUnits);
  if (!sum || !(*sum <= kMost)) return bad_duration(text);
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::llround(*sum)));
}

Result<std::chrono::nanoseconds> parse_pause(std::string_view text) {
  static constexpr std::array kUnits = {TimeUnit{"ns", 1}, TimeUnit{"us", 1e3}, TimeUnit{"ms", 1e6},
                                        TimeUnit{"s", 1e9}};
  constexpr double kMost = 86400e9;
  if (text == "0") return std::chrono::nanoseconds(0);
  const std::optional<double> sum = sum_of_times(text, kUnits);
  if (!sum || !(*sum <= kMost)) return bad_pause(text);
  return std::chrono::nanoseconds(std::llround(*sum));
}

Result<std::uint64_t> parse_u64(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || end != text.data() + text.size() || text.empty())
    return error("'{}' is not a whole number of at most 64 bits", text);
  return value;
}

Result<std::uint64_t> parse_size(std::string_view text) {
  const auto number_end = text.find_first_not_of("0123456789.");
  const std::string_view number = text.substr(0, number_end);
  const std::string_view suffix =
      number_end == std::string_view::npos ? std::string_view() : text.substr(number_end);
  const int power = suffix_power(suffix);
  if (number.empty() || power < 0) return bad_size(text);
  const std::uint64_t unit = std::uint64_t{1} << (10 * power);
  if (number.find('.') == std::string_view::npos) {
    const auto whole = parse_u64(number);
    if (!whole.ok() || *whole > std::numeric_limits<std::uint64_t>::max() / unit)
      return bad_size(text);
    return *whole * unit;
  }
  double value = 0;
  const auto [end, ec] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (ec != std::errc() || end != number.data() + number.size()) return bad_size(text);
  value *= static_cast<double>(unit);
  if (!(value < 18446744073709551615.0)) return bad_size(text);
  return static_cast<std::uint64_t>(std::llround(value));
}

std::string format_utc(std::time_t time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time));
}

std::string format_size(std::uint64_t bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string format_count(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}

}  // namespace e4r
