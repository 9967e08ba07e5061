// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

namespace e4r::report {
namespace {

// Whether columns say different things to a reader. What was not recorded says nothing.
bool differs(const std::vector<results::Value>& values, const std::vector<Column>& columns) {
  std::set<std::string> said;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool absent = results::is_none(values[i]);
    if (!absent || !columns[i].recorded)
      said.insert(results::is_zero_or_none(values[i]) ? "" : results::text_of(values[i]));
  }
  return said.size() > 1;
}

// Levels of a label: "  all" stands below a heading, "    of free space, %" below such a row.
std::size_t depth_of(const results::Row& row) {
  return row.label.find_first_not_of(' ');
}

// The row that the one at `index` is a part of, by its indentation; none: it stands for itself.
std::optional<std::size_t> whole_of(const std::vector<const results::Row*>& all,
                                    std::size_t index) {
  for (std::size_t i = index; i-- > 0 && all[i]->section == all[index]->section;)
    if (depth_of(*all[i]) < depth_of(*all[index])) return i;
  return std::nullopt;
}

}  // namespace

std::vector<Column> columns(const ReplayReport& report) {
  std::vector<Column> out;
  if (report.kernel && report.kernel->run) out.push_back({"recorded", &*report.kernel->run, true});
  for (const results::Outcome& run : report.runs)
    out.push_back({std::string(run.policy->name), &run, false});
  return out;
}

std::vector<Column> columns_with_start(const ReplayReport& report) {
  std::vector<Column> out = columns(report);
  out.insert(out.begin(), {"start", &report.start, false});
  return out;
}

std::size_t first_policy(const ReplayReport& report) {
  return report.kernel && report.kernel->run ? 1 : 0;
}

std::vector<results::Value> values_of(const results::Row& row, const std::vector<Column>& columns) {
  std::vector<results::Value> values;
  values.reserve(columns.size());
  for (const Column& column : columns) values.push_back(row.of(*column.run));
  return values;
}

std::string change_head(const ReplayReport& report) {
  return report.runs.size() == 2 ? fmt::format("against {}", report.runs.front().policy->name)
                                 : std::string();
}

bool shown(const results::Row& row, const std::vector<results::Value>& values) {
  return row.show == results::Show::always ||
         (row.show == results::Show::nonzero &&
          !std::ranges::all_of(values, results::is_zero_or_none));
}

RowChoice choose_rows(const ReplayReport& report, bool all) {
  std::vector<const results::Row*> whole;
  std::vector<bool> chosen;
  const std::vector<Column> beside = columns(report);
  for (const results::Row& row : results::rows()) {
    const std::vector<results::Value> values = values_of(row, beside);
    if (!shown(row, values)) continue;
    whole.push_back(&row);
    chosen.push_back(all || row.common || differs(values, beside));
  }
  for (std::size_t i = whole.size(); i-- > 0;)
    if (const auto of = whole_of(whole, i); of && chosen[i]) chosen[*of] = true;
  RowChoice out;
  for (std::size_t i = 0; i < whole.size(); ++i)
    if (chosen[i]) out.rows.push_back(whole[i]);
  out.left_out = whole.size() - out.rows.size();
  return out;
}

}  // namespace e4r::report
