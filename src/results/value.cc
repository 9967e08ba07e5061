// SPDX-License-Identifier: GPL-2.0-or-later
#include "results/value.h"

#include <fmt/format.h>

#include "util/units.h"

namespace e4r::results {

bool is_none(const Value& value) {
  return std::holds_alternative<std::monostate>(value);
}

bool is_zero_or_none(const Value& value) {
  return number_of(value).value_or(0) == 0;
}

std::optional<double> number_of(const Value& value) {
  if (const auto* count = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*count);
  if (const auto* ratio = std::get_if<double>(&value)) return *ratio;
  return std::nullopt;
}

std::string text_of(const Value& value) {
  if (const auto* count = std::get_if<std::uint64_t>(&value)) return format_count(*count);
  if (const auto* ratio = std::get_if<double>(&value)) return fmt::format("{:.2f}", *ratio);
  return "-";
}

std::string change_text(const Value& from, const Value& to) {
  const auto a = number_of(from), b = number_of(to);
  if (!a || !b) return {};
  if (*a == *b) return "=";
  if (*a == 0) return "new";
  const double percent = (*b - *a) / *a * 100;
  if (percent > 999) return fmt::format("x{:.1f}", *b / *a);
  const std::string rounded = fmt::format("{:+.1f}", percent);
  return (rounded == "-0.0" || rounded == "+0.0" ? "0.0" : rounded) + " %";
}

}  // namespace e4r::results
