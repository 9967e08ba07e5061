// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/results.h"

#include "sweep/line.h"
#include "table/csv.h"

namespace e4r::sweep {
namespace {

using table::csv_cell;

std::string csv_value(const results::Value& value) {
  if (const auto* count = std::get_if<std::uint64_t>(&value)) return std::to_string(*count);
  if (const auto* ratio = std::get_if<double>(&value)) return fmt::format("{}", *ratio);
  return {};
}

}  // namespace

Figures figures_of(const Lines& lines) {
  Figures out;
  for (const std::string& line : lines)
    out.push_back(line.empty() ? std::vector<results::Value>()
                               : figures_of(std::string_view(line)));
  return out;
}

std::string points_jsonl(const Lines& lines) {
  std::string out;
  for (const std::string& line : lines)
    if (!line.empty()) out.append(line).append("\n");
  return out;
}

std::string points_csv(const Plan& plan, const Figures& figures) {
  std::string out = "point,capture,policy";
  for (const Axis& axis : plan.spec.axes) out += fmt::format(",{}", axis.tunable->name);
  for (const results::Row& row : results::rows()) out += "," + csv_cell(row.key);
  out += '\n';
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    if (figures[i].empty()) continue;
    const Point& point = plan.points[i];
    out += fmt::format("{},{},{}", i + 1, csv_cell(plan.spec.captures[point.capture]),
                       csv_cell(point.policy->name));
    for (const auto& value : point.values) out += value ? fmt::format(",{}", *value) : ",";
    for (const results::Value& value : figures[i]) out += "," + csv_value(value);
    out += '\n';
  }
  return out;
}

Status write_results(Store& store, const Plan& plan, const Figures& figures,
                     const results::Row& metric) {
  const Lines& lines = store.finished().lines;
  E4R_CHECK(store.write("points.jsonl", points_jsonl(lines)));
  E4R_CHECK(store.write("points.csv", points_csv(plan, figures)));
  E4R_CHECK(write_sqlite(store.file("sweep.sqlite"), plan, figures));
  E4R_CHECK(store.write("summary.json", summary_json(plan, figures, metric)));
  return store.end();
}

}  // namespace e4r::sweep
