// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "json/text.h"
#include "report/json_parts.h"
#include "sweep/store.h"
#include "table/table.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::sweep {
namespace {

namespace json = boost::json;

struct Ranked {
  double cost = 0;
  double pieces = 0;
  std::size_t index = 0;
};

// Returns the points that no other point beats in one figure without being worse in the other.
std::vector<std::size_t> front_of(const Figures& figures, const std::vector<std::size_t>& points) {
  std::vector<Ranked> all;
  const bool files = leaves_files(figures, points);
  const results::Row& fragmentation = *results::find_row(kFragmentationRow);
  for (const std::size_t index : points) {
    const auto price = results::number_of(search_cost(figures, index));
    const auto pieces = results::number_of(figure(figures, index, fragmentation));
    if (price && pieces && (*pieces > 0 || !files)) all.push_back({*price, *pieces, index});
  }
  std::ranges::sort(all, [](const Ranked& a, const Ranked& b) {
    return std::tie(a.cost, a.pieces, a.index) < std::tie(b.cost, b.pieces, b.index);
  });
  std::vector<std::size_t> out;
  const Ranked* least = nullptr;  // the point with the fewest pieces so far
  for (const Ranked& c : all) {
    const bool same = least != nullptr && c.cost == least->cost && c.pieces == least->pieces;
    if (least != nullptr && c.pieces >= least->pieces && !same) continue;
    out.push_back(c.index);
    least = &c;
  }
  std::ranges::sort(out);
  return out;
}

// Sorts points, best first; equal ones by the cost of their searches. A missing figure is worse
// than any other.
void sort(const Figures& figures, const results::Row& metric, std::vector<std::size_t>& points) {
  constexpr double kWorst = std::numeric_limits<double>::infinity();
  const double sign = metric.better == results::Better::higher ? -1 : 1;
  struct Keyed {
    double figure, cost;
    std::size_t index;
  };
  std::vector<Keyed> keyed;
  for (const std::size_t index : points) {
    const auto value = results::number_of(figure(figures, index, metric));
    keyed.push_back({value ? sign * *value : kWorst,
                     results::number_of(search_cost(figures, index)).value_or(kWorst), index});
  }
  std::ranges::stable_sort(keyed, [](const Keyed& a, const Keyed& b) {
    return std::tie(a.figure, a.cost) < std::tie(b.figure, b.cost);
  });
  std::ranges::transform(keyed, points.begin(), &Keyed::index);
}

std::string_view direction(const results::Row& metric) {
  return metric.better == results::Better::lower ? "lower" : "higher";
}

struct Column {
  std::string title;
  std::function<results::Value(std::size_t index)> value;
};

std::vector<Column> columns_of(const Figures& figures, const results::Row& metric) {
  std::vector<Column> out;
  const auto add = [&](std::string_view key) {
    if (std::ranges::any_of(out, [&](const Column& c) { return c.title == key; })) return;
    out.push_back({std::string(key),
                   [&figures, key](std::size_t index) { return figure_of(figures, index, key); }});
  };
  add(metric.key);
  for (const std::string_view key : kCostRows) add(key);
  add(kFragmentationRow);
  return out;
}

void add_row(const Plan& plan, const EqualPoints& row, bool on_front,
             const std::vector<Column>& columns, TextTable& table) {
  const std::size_t index = row.index;
  const Point& point = plan.points[index];
  std::vector<std::string> cells = {fmt::format("{} {}", on_front ? '*' : ' ', point.policy->name),
                                    format_count(index + 1),
                                    row.count == 1 ? "" : format_count(row.count)};
  for (const auto& value : point.values) cells.push_back(value ? std::to_string(*value) : "-");
  for (const Column& column : columns) cells.push_back(results::text_of(column.value(index)));
  table.row(std::move(cells));
}

std::string table_of(const Plan& plan, const Ranking& ranking, const std::vector<EqualPoints>& rows,
                     const std::vector<Column>& columns, std::size_t most) {
  TextTable table;
  std::vector<std::string> head = {"  policy", "point", "equal"};
  for (const Axis& axis : plan.spec.axes) head.emplace_back(axis.tunable->name);
  for (const Column& column : columns) head.push_back(column.title);
  table.row(std::move(head));
  table.rule();
  std::uint64_t left_out = 0;
  for (std::size_t i = 0; const EqualPoints& row : rows) {
    const bool on_front = std::ranges::binary_search(ranking.front, row.index);
    if (most == 0 || i++ < most || on_front)
      add_row(plan, row, on_front, columns, table);
    else
      left_out += row.count;
  }
  std::string text = table.text();
  if (left_out > 0) text += fmt::format("  and {} more\n", format_count(left_out));
  return text;
}

json::array numbers(const std::vector<std::size_t>& points) {
  json::array out;
  for (const std::size_t index : points) out.push_back(index + 1);
  return out;
}

// Whether one direction of the figure is better. Times are excluded, because models have none.
bool is_metric(const results::Row& row) {
  return row.better != results::Better::none && !row.is_time();
}

}  // namespace

std::vector<const results::Row*> metrics() {
  std::vector<const results::Row*> out;
  for (const results::Row& row : results::rows())
    if (is_metric(row)) out.push_back(&row);
  return out;
}

Result<const results::Row*> find_metric(std::string_view key) {
  const results::Row* row = results::find_row(key);
  if (row != nullptr && is_metric(*row)) return row;
  std::string known;
  for (const results::Row* metric : metrics())
    known += fmt::format("{}{}", known.empty() ? "" : ", ", metric->key);
  if (row != nullptr)
    return error("neither direction of '{}' is better: choose from {}", key, known);
  return error("no figure '{}': choose from {}", printable(key), known);
}

results::Value figure(const Figures& figures, std::size_t index, const results::Row& row) {
  return row.index < figures[index].size() ? figures[index][row.index] : results::Value();
}

results::Value figure_of(const Figures& figures, std::size_t index, std::string_view key) {
  const results::Row* row = results::find_row(key);
  return row == nullptr ? results::Value() : figure(figures, index, *row);
}

results::Value search_cost(const Figures& figures, std::size_t index) {
  std::uint64_t sum = 0;
  for (const std::string_view key : kCostRows) {
    const results::Value value = figure_of(figures, index, key);
    const auto* count = std::get_if<std::uint64_t>(&value);
    if (count == nullptr) return {};
    sum += *count;
  }
  return sum;
}

bool leaves_files(const Figures& figures, const std::vector<std::size_t>& points) {
  const results::Row& fragmentation = *results::find_row(kFragmentationRow);
  return std::ranges::any_of(points, [&](std::size_t index) {
    return results::number_of(figure(figures, index, fragmentation)).value_or(0) > 0;
  });
}

std::vector<Ranking> rank(const Plan& plan, const Figures& figures, const results::Row& metric) {
  std::vector<Ranking> out;
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    if (figures[i].empty()) continue;
    if (out.empty() || out.back().capture != plan.points[i].capture)
      out.push_back({plan.points[i].capture, {}, {}});
    out.back().order.push_back(i);
  }
  for (Ranking& ranking : out) {
    ranking.front = front_of(figures, ranking.order);
    sort(figures, metric, ranking.order);
  }
  return out;
}

std::vector<EqualPoints> equal_points(const Plan& plan, const Figures& figures,
                                      const Ranking& ranking) {
  std::vector<EqualPoints> out;
  std::map<std::pair<const allocator::Policy*, std::vector<results::Value>>, std::size_t> seen;
  for (const std::size_t index : ranking.order) {
    const auto [at, is_new] =
        seen.try_emplace({plan.points[index].policy, figures[index]}, out.size());
    if (is_new) out.push_back({index, 0});
    EqualPoints& row = out[at->second];
    ++row.count;
    if (changes(plan, index) < changes(plan, row.index)) row.index = index;
  }
  return out;
}

std::string doubt_of(const Plan& plan, std::size_t capture) {
  return capture < plan.doubts.size() ? plan.doubts[capture] : std::string();
}

std::string ranking_text(const Plan& plan, const Figures& figures, const results::Row& metric,
                         std::size_t most) {
  std::string text;
  const std::vector<Column> columns = columns_of(figures, metric);
  for (const Ranking& ranking : rank(plan, figures, metric)) {
    text += fmt::format("{}: {} points, by {} ({} is better)\n\n",
                        escape(plan.spec.captures[ranking.capture]),
                        format_count(ranking.order.size()), metric.key, direction(metric));
    if (const std::string doubt = doubt_of(plan, ranking.capture); !doubt.empty())
      text += fmt::format("doubtful: {}\n\n", escape(doubt));
    text += table_of(plan, ranking, equal_points(plan, figures, ranking), columns, most) + "\n";
  }
  return text + fmt::format(
                    "*: no point is better in one of these without being worse in the other: cost "
                    "of searches ({} + {}), pieces of files ({})\n"
                    "equal: points of the policy with the same figures; the one shown differs "
                    "least from the recorded settings\n",
                    kCostRows[0], kCostRows[1], kFragmentationRow);
}

std::string summary_json(const Plan& plan, const Figures& figures, const results::Row& metric) {
  json::array captures;
  for (const Ranking& ranking : rank(plan, figures, metric)) {
    json::array front;
    for (const std::size_t index : ranking.front)
      front.push_back(json::object{
          {"point", index + 1},
          {"cost", report::json_of(search_cost(figures, index))},
          {"fragmentation", report::json_of(figure_of(figures, index, kFragmentationRow))}});
    json::object capture = {{"capture", plan.spec.captures[ranking.capture]},
                            {"ranking", numbers(ranking.order)},
                            {"pareto", std::move(front)}};
    if (const std::string doubt = doubt_of(plan, ranking.capture); !doubt.empty())
      capture["doubt"] = doubt;
    captures.push_back(std::move(capture));
  }
  return json_text(
      json::object{{"schema", "e4replay-sweep-summary/1"},
                   {"best_by", metric.key},
                   {"better", direction(metric)},
                   {"cost", {json::string_view(kCostRows[0]), json::string_view(kCostRows[1])}},
                   {"fragmentation", kFragmentationRow},
                   {"captures", std::move(captures)}});
}

namespace {

// A point with the criteria by which it is chosen.
struct Candidate {
  Changes changes;
  double cost = 0;
  double pieces = 0;
  double product = 0;
};

// `files` says whether at least one point leaves files.
std::optional<Candidate> candidate(const Plan& plan, const Figures& figures, std::size_t index,
                                   bool files) {
  const auto cost = results::number_of(search_cost(figures, index));
  const auto pieces = results::number_of(figure_of(figures, index, kFragmentationRow));
  const auto requests = results::number_of(figure_of(figures, index, "requests"));
  if (!cost || !pieces || !requests || (files && *pieces == 0)) return std::nullopt;
  return Candidate{changes(plan, index), *cost, *pieces,
                   (*requests + *cost) * (files ? *pieces : 1)};
}

bool equal(const Candidate& a, const Candidate& b) {
  return a.cost == b.cost && a.pieces == b.pieces;
}

Advice choose(const Plan& plan, std::uint32_t capture, const std::vector<Candidate>& all,
              const std::vector<Candidate>& best) {
  const auto least = [](const std::vector<Candidate>& of, auto by) {
    return *std::ranges::min_element(
        of, [&](const Candidate& a, const Candidate& b) { return by(a) < by(b); });
  };
  const Candidate balanced =
      least(best, [](const Candidate& c) { return std::tuple(c.product, c.cost, c.changes); });
  Advice out;
  out.capture = capture;
  out.cheapest = least(best, [](const Candidate& c) {
                   return std::tuple(c.cost, c.pieces, c.changes);
                 }).changes.index;
  out.fewest = least(best, [](const Candidate& c) {
                 return std::tuple(c.pieces, c.cost, c.changes);
               }).changes.index;
  out.balanced = balanced.changes.index;
  out.costliest = least(all, [](const Candidate& c) {
                    return std::tuple(-c.cost, c.pieces, c.changes);
                  }).changes.index;
  for (const Candidate& c : all)
    if (c.changes.of_recorded == 0 &&
        plan.points[c.changes.index].policy == plan.spec.policies.front())
      out.recorded = c.changes.index;
  out.points = all.size();
  out.as_good = static_cast<std::uint64_t>(std::ranges::count_if(
                    all, [&](const Candidate& c) { return equal(c, balanced); })) -
                1;
  return out;
}

results::Value ratio(const results::Value& above, const results::Value& below) {
  const auto a = results::number_of(above), b = results::number_of(below);
  if (!a || !b || *b == 0) return {};
  return *a / *b;
}

// Formats "0.05 steps of search per request and 1.00 extents per file"; without `files`, only the
// steps.
std::string figures_text(const Figures& figures, std::size_t index, bool files) {
  if (!files)
    return fmt::format("{} steps of search per request",
                       results::text_of(steps_per_request(figures, index)));
  return fmt::format("{} steps of search per request and {} extents per file",
                     results::text_of(steps_per_request(figures, index)),
                     results::text_of(extents_per_file(figures, index)));
}

// Returns for example ", 12.5 % fewer steps than legacy with the recorded settings".
std::string against_recorded(const Plan& plan, const Figures& figures, const Advice& advice) {
  if (!advice.recorded || *advice.recorded == advice.balanced) return {};
  const auto cost = results::number_of(search_cost(figures, advice.balanced));
  const auto before = results::number_of(search_cost(figures, *advice.recorded));
  if (!cost || !before || *before == 0) return {};
  const std::string name =
      fmt::format("{} with the recorded settings", plan.points[*advice.recorded].policy->name);
  if (*cost == *before) return fmt::format(", as many steps as {}", name);
  constexpr double kLeast = 0.05;  // a smaller value would be printed as 0.0
  const double percent = 100 * std::abs(1 - *cost / *before);
  return fmt::format(", {} % {} steps than {}",
                     percent < kLeast ? "less than 0.1" : fmt::format("{:.1f}", percent),
                     *cost < *before ? "fewer" : "more", name);
}

std::string others(std::uint64_t as_good) {
  if (as_good == 0) return {};
  return as_good == 1 ? " (another point equals it)"
                      : fmt::format(" ({} other points equal it)", format_count(as_good));
}

}  // namespace

results::Value steps_per_request(const Figures& figures, std::size_t index) {
  return ratio(search_cost(figures, index), figure_of(figures, index, "requests"));
}

results::Value extents_per_file(const Figures& figures, std::size_t index) {
  // Converts to a ratio, because a ratio that was written without decimals is read as a count.
  const auto value = results::number_of(figure_of(figures, index, "files/avg_extents"));
  return value ? results::Value(*value) : results::Value();
}

std::vector<Advice> advise(const Plan& plan, const Figures& figures) {
  return advise(plan, figures, rank(plan, figures, *results::find_row(kFragmentationRow)));
}

std::vector<Advice> advise(const Plan& plan, const Figures& figures,
                           const std::vector<Ranking>& rankings) {
  std::vector<Advice> out;
  for (const Ranking& ranking : rankings) {
    const bool files = leaves_files(figures, ranking.order);
    std::vector<Candidate> all, best;
    for (const std::size_t index : ranking.order) {
      const auto one = candidate(plan, figures, index, files);
      if (!one) continue;
      all.push_back(*one);
      if (std::ranges::binary_search(ranking.front, index)) best.push_back(*one);
    }
    if (best.empty()) continue;
    out.push_back(choose(plan, ranking.capture, all, best));
    out.back().files = files;
  }
  return out;
}

std::string point_name(const Plan& plan, std::size_t index) {
  const Point& point = plan.points[index];
  std::string out(point.policy->name);
  std::string_view before = " with ";
  for (std::size_t i = 0; i < point.values.size(); ++i) {
    if (!point.values[i]) continue;
    out += fmt::format("{}{}={}", before, plan.spec.axes[i].tunable->name, *point.values[i]);
    before = " ";
  }
  return out;
}

std::vector<std::string> sentences(const Plan& plan, const Figures& figures, const Advice& advice) {
  const auto of = [&](std::size_t index) { return figures_text(figures, index, advice.files); };
  if (advice.as_good + 1 == advice.points)
    return {fmt::format("Nothing that was tried makes a difference to searches{}: {}.",
                        advice.files ? " or files" : ", and no file is left", of(advice.balanced))};
  const std::string here =
      fmt::format("{}{}: {}{}.", point_name(plan, advice.balanced), others(advice.as_good),
                  of(advice.balanced), against_recorded(plan, figures, advice));
  if (!advice.files)
    return {
        fmt::format("No file is left at the end, so searches alone count. Of {} points, they are "
                    "cheapest under {}",
                    format_count(advice.points), here)};
  if (advice.cheapest == advice.fewest)
    return {
        fmt::format("Of {} points, the cheapest in searches leaves files in fewest extents too: {}",
                    format_count(advice.points), here)};
  std::vector<std::string> out = {
      fmt::format("The best balance of {} points is {}", format_count(advice.points), here)};
  if (advice.balanced != advice.cheapest)
    out.push_back(fmt::format("Searches are cheapest under {}: {}.",
                              point_name(plan, advice.cheapest), of(advice.cheapest)));
  if (advice.balanced != advice.fewest)
    out.push_back(fmt::format("Files lie in fewest extents under {}: {}.",
                              point_name(plan, advice.fewest), of(advice.fewest)));
  return out;
}

std::string advice_text(const Plan& plan, const Figures& figures) {
  std::string out;
  for (const Advice& advice : advise(plan, figures)) {
    out += escape(plan.spec.captures[advice.capture]) + ":\n";
    for (const std::string& sentence : sentences(plan, figures, advice))
      out += "  " + sentence + "\n";
  }
  return out;
}

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

namespace {

using table::Database;
using table::Statement;

// The CREATE TABLE and INSERT statements for the columns of points.csv. Columns of figures have no
// type, because a figure may be a count or a ratio.
struct Sql {
  std::string create;
  std::string insert;
};
Sql sql_for(const Plan& plan) {
  Sql out = {"CREATE TABLE points (point INTEGER PRIMARY KEY, capture TEXT, policy TEXT",
             "INSERT INTO points VALUES (?, ?, ?"};
  const auto add = [&out](std::string_view name, const char* type) {
    out.create += fmt::format(", {}{}", table::quote(name), type);
    out.insert += ", ?";
  };
  for (const Axis& axis : plan.spec.axes) add(axis.tunable->name, " INTEGER");
  for (const results::Row& row : results::rows()) add(row.key, "");
  out.create += ")";
  out.insert += ")";
  return out;
}

void add(Statement& statement, const results::Value& value) {
  if (const auto* count = std::get_if<std::uint64_t>(&value))
    statement.add(*count);
  else if (const auto* ratio = std::get_if<double>(&value))
    statement.add(*ratio);
  else
    statement.add_null();
}

Status insert(Statement& statement, const Plan& plan, std::size_t index,
              const std::vector<results::Value>& figures) {
  const Point& point = plan.points[index];
  statement.add(std::uint64_t{index + 1});
  statement.add(std::string_view(plan.spec.captures[point.capture]));
  statement.add(point.policy->name);
  for (const auto& value : point.values)
    add(statement, value ? results::Value(*value) : results::Value());
  for (const results::Value& value : figures) add(statement, value);
  return statement.run();
}

}  // namespace

Status write_sqlite(const std::string& path, const Plan& plan, const Figures& figures) {
  return table::write_database(path, [&](Database& db) -> Status {
    const Sql sql = sql_for(plan);
    E4R_CHECK(db.execute(sql.create));
    E4R_TRY(Statement statement, db.prepare(sql.insert));
    for (std::size_t i = 0; i < figures.size(); ++i)
      if (!figures[i].empty()) E4R_CHECK(insert(statement, plan, i, figures[i]));
    return {};
  });
}

}  // namespace e4r::sweep
