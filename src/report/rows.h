// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "report/replay_report.h"

namespace e4r::report {

// A figure of a run: a count, or a ratio.
using Value = std::variant<std::monostate, std::uint64_t, double>;

// When the whole table has a row; the JSON document always has it.
enum class Show : std::uint8_t { always, nonzero /* in any column */, never };

// Which way a figure is better; none: it tells what was done, not how well.
enum class Better : std::uint8_t { none, lower, higher };

// One figure that a run is told by. The table and the JSON document show the same rows: `label`
// under `section` in the one, `key` (levels separated by '/') in the other.
struct Row {
  std::string section;
  std::string label;
  std::string key;
  Show show = Show::always;
  std::function<Value(const RunReport& run, const ReplayReport& report)> run;
  // The same figure of the start image; empty where there is none.
  std::function<Value(const ReplayReport& report)> start;
  Better better = Better::none;
  bool common = false;    // most people ask for it: a short table has it whatever it says
  std::size_t place = 0;  // in rows() as they were when it was made
};

// All rows, in the order in which they are shown: one for each criterion that there is now
// (mb::ladder_criteria()). Thread-safe; good for as long as the program runs.
[[nodiscard]] std::span<const Row> rows();

// Whether models have the figure too: they take no time.
[[nodiscard]] bool has_model(const Row& row);

// The row of that key; null when there is none.
[[nodiscard]] const Row* find_row(std::string_view key);

// What tables and plots show side by side: the recorded kernel, where it has a column, then each
// policy.
struct Column {
  std::string name;  // "recorded", or the policy's
  const RunReport* run = nullptr;
  bool recorded = false;
};
[[nodiscard]] std::vector<Column> columns(const ReplayReport& report);
// Which of them is the first policy. What differs is told against that one: model against model.
[[nodiscard]] std::size_t first_policy(const ReplayReport& report);

// The row's figure for each column, and whether the whole table has the row.
[[nodiscard]] std::vector<Value> values_of(const Row& row, const ReplayReport& report);
[[nodiscard]] bool shown(const Row& row, const std::vector<Value>& values);

// What a table shows of all its rows.
struct RowChoice {
  std::vector<const Row*> rows;
  std::size_t left_out = 0;  // rows that say the same in every column
};
// All of them, or those that differ between columns and those that most people ask for. A part of
// another row comes with that row.
[[nodiscard]] RowChoice choose_rows(const ReplayReport& report, bool all);

// The figure as a number.
[[nodiscard]] std::optional<double> number_of(const Value& value);

// How the second figure differs from the first: "-94.2 %", "x12.5", "=" when it does not, "0.0 %"
// when it hardly does, "new" behind a zero, or nothing when one of them is absent.
[[nodiscard]] std::string change_text(const Value& from, const Value& to);

// Heads the column of how the second of two policies differs from the first; empty when there are
// not two.
[[nodiscard]] std::string change_head(const ReplayReport& report);

// "1,234", "1.25", or "-" for none.
[[nodiscard]] std::string text_of(const Value& value);

}  // namespace e4r::report
