// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace e4r::results {

// A figure: a count, a ratio, or nothing, when the run does not have it.
using Value = std::variant<std::monostate, std::uint64_t, double>;

[[nodiscard]] bool is_none(const Value& value);
[[nodiscard]] bool is_zero_or_none(const Value& value);

// The figure as a number.
[[nodiscard]] std::optional<double> number_of(const Value& value);

// "1,234", "1.25", or "-" for an empty value.
[[nodiscard]] std::string text_of(const Value& value);

// How the second figure differs from the first: "-94.2 %", "x12.5", "=" when it does not, "0.0 %"
// when it hardly does, "new" behind a zero, or nothing when one of them is absent.
[[nodiscard]] std::string change_text(const Value& from, const Value& to);

}  // namespace e4r::results
