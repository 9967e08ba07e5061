// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "exports/decisions.h"

namespace e4r::exports {

// A time, printed in seconds with nine decimals.
struct Seconds {
  std::uint64_t ns = 0;
};
// monostate: no value, or an unknown one.
using Cell = std::variant<std::monostate, std::uint64_t, Seconds, std::string_view>;

// A column of the table of decisions. docs/data.md says what each one means.
struct Column {
  std::string_view name;  // a quantity ends in its unit
  std::string_view type;  // in SQL
  Cell (*cell)(const Series& series, const replay::DecisionRow& row);
};
[[nodiscard]] std::span<const Column> columns();

// A word for how a request was served.
[[nodiscard]] std::string_view served_text(replay::ServedBy served);

}  // namespace e4r::exports
