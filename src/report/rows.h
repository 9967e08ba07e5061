// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "report/replay_report.h"

namespace e4r::report {

// A figure of a run: a count, or a ratio.
using Value = std::variant<std::monostate, std::uint64_t, double>;

// One figure that a run is told by. The table and the JSON document show the same rows: `label`
// under `section` in the one, `key` (levels separated by '/') in the other.
struct Row {
  std::string section;
  std::string label;
  std::string key;
  bool always = true;  // false: the table leaves the row out when it is 0 or absent in every run
  Value (*run)(const RunReport& run, const ReplayReport& report, const std::string& arg);
  // The same figure of the start image, where there is one; may be null.
  Value (*start)(const ReplayReport& report);
  std::string arg;  // handed to `run`
};

// All rows, in the order in which they are shown.
[[nodiscard]] std::span<const Row> rows();

// "1,234", "1.25", or "-" for none.
[[nodiscard]] std::string text_of(const Value& value);

}  // namespace e4r::report
