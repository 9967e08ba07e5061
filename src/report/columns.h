// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/replay_report.h"
#include "results/rows.h"

// What a table of runs has: columns, and the rows that it shows.
namespace e4r::report {

// What tables and plots show side by side: the recorded kernel, where it has a column, then each
// policy.
struct Column {
  std::string name;  // "recorded", or the policy's
  const results::Outcome* run = nullptr;
  bool recorded = false;
};
[[nodiscard]] std::vector<Column> columns(const ReplayReport& report);
// The same behind a column of the image at the start, "start", which has free space alone.
[[nodiscard]] std::vector<Column> columns_with_start(const ReplayReport& report);
// Which of columns() is the first policy. What differs is told against that one: model against
// model.
[[nodiscard]] std::size_t first_policy(const ReplayReport& report);

// The row's figure for each column, and whether the whole table has the row.
[[nodiscard]] std::vector<results::Value> values_of(const results::Row& row,
                                                    const std::vector<Column>& columns);
[[nodiscard]] bool shown(const results::Row& row, const std::vector<results::Value>& values);

// What a table shows of all its rows.
struct RowChoice {
  std::vector<const results::Row*> rows;
  std::size_t left_out = 0;  // rows that say the same in every column
};
// All of them, or those that differ between columns and those that most people ask for. A part of
// another row comes with that row.
[[nodiscard]] RowChoice choose_rows(const ReplayReport& report, bool all);

// Heads the column of how the second of two policies differs from the first; empty when there are
// not two.
[[nodiscard]] std::string change_head(const ReplayReport& report);

}  // namespace e4r::report
