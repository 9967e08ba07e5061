// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/ranking.h"

#include <algorithm>
#include <boost/json.hpp>
#include <limits>
#include <map>

#include "json/text.h"
#include "report/json_parts.h"
#include "util/escaped.h"
#include "util/printable.h"
#include "util/text_table.h"
#include "util/units.h"

namespace e4r::sweep {
namespace {

namespace json = boost::json;

struct Ranked {
  double cost = 0;
  double pieces = 0;
  std::size_t index = 0;
};

// The points that no other point beats in one figure without being worse in the other.
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
  const Ranked* least = nullptr;  // fewest pieces so far
  for (const Ranked& c : all) {
    const bool same = least != nullptr && c.cost == least->cost && c.pieces == least->pieces;
    if (least != nullptr && c.pieces >= least->pieces && !same) continue;
    out.push_back(c.index);
    least = &c;
  }
  std::ranges::sort(out);
  return out;
}

// Sorts points: best first, equal ones by the cost of their searches. A figure that is missing is
// worse than any other.
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

// A figure that is better one way. Models take no time.
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
  if (row != nullptr) return error("'{}' is neither better low nor high: there are {}", key, known);
  return error("no figure '{}': there are {}", printable(key), known);
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

std::string ranking_text(const Plan& plan, const Figures& figures, const results::Row& metric,
                         std::size_t most) {
  std::string text;
  const std::vector<Column> columns = columns_of(figures, metric);
  for (const Ranking& ranking : rank(plan, figures, metric)) {
    text += fmt::format("{}: {} points, by {} ({} is better)\n\n",
                        escaped(plan.spec.captures[ranking.capture]),
                        format_count(ranking.order.size()), metric.key, direction(metric));
    text += table_of(plan, ranking, equal_points(plan, figures, ranking), columns, most) + "\n";
  }
  return text + fmt::format(
                    "*: no point beats it in one without losing in the other: cost of searches "
                    "({} + {}), pieces of files ({})\n"
                    "equal: points of the policy with the same figures; the one shown changes "
                    "least of what was recorded\n",
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
    captures.push_back(json::object{{"capture", plan.spec.captures[ranking.capture]},
                                    {"ranking", numbers(ranking.order)},
                                    {"pareto", std::move(front)}});
  }
  return json_text(
      json::object{{"schema", "e4replay-sweep-summary/1"},
                   {"best_by", metric.key},
                   {"better", direction(metric)},
                   {"cost", {json::string_view(kCostRows[0]), json::string_view(kCostRows[1])}},
                   {"fragmentation", kFragmentationRow},
                   {"captures", std::move(captures)}});
}

}  // namespace e4r::sweep
