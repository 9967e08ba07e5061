// SPDX-License-Identifier: GPL-2.0-or-later
#include "results/rows.h"

#include <fmt/format.h>
#include <cmath>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

#include "results/table.h"
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

std::optional<Condition::Number> exact_number_of(const Value& value) {
  if (const auto* count = std::get_if<std::uint64_t>(&value)) return *count;
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

std::string change_text(const Value& from, const Value& to, double luck) {
  const auto a = number_of(from), b = number_of(to);
  constexpr double kShown = 0.05;  // a smaller value would be printed as 0.0
  if (luck < kShown || !a || !b || *a == 0) return change_text(from, to);
  const bool within = std::abs(*b - *a) / std::abs(*a) * 100 <= luck;
  return fmt::format("{} (luck ±{:.1f})", within ? "=" : change_text(from, to), luck);
}

double luck_of(std::span<const Outcome> runs, const std::function<Value(const Outcome&)>& figure) {
  if (runs.empty()) return 0;
  const auto base = number_of(figure(runs.front()));
  if (!base || *base == 0) return 0;
  double most = 0;
  for (const Outcome& run : runs)
    if (const auto value = number_of(figure(run)))
      most = std::max(most, std::abs(*value - *base) / std::abs(*base) * 100);
  return most;
}

namespace {

using Tables = std::array<std::vector<Row>, kReporters>;

// Returns the row's key in the JSON document of `age`. If the start image has the figure, too, the
// key is changed: "free_extents/count" becomes "aged/count".
std::string aged_key(const Row& row) {
  return row.start ? "aged" + row.key.substr(row.key.find('/')) : row.key;
}

// Gives the row the key and label that the reporter uses.
void rename(Row& row, Reporter reporter) {
  if (reporter == Reporter::hunt) reporter = Reporter::review;
  const auto name = std::ranges::find(row.names, reporter, &Name::reporter);
  if (reporter == Reporter::age) row.key = aged_key(row);
  if (reporter != Reporter::replay) row.label.erase(0, row.label.find_first_not_of(' '));
  if (reporter == Reporter::metrics && !row.section.empty())
    row.label = fmt::format("{}: {}", row.section, row.label);
  if (name == row.names.end()) return;
  row.key = name->key;
  if (!name->label.empty()) row.label = name->label;
}

Tables tables_of(const std::vector<Row>& all) {
  Tables out;
  for (std::size_t i = 0; i < kReporters; ++i)
    for (const Row& row : all) {
      if ((row.reporters & by(static_cast<Reporter>(i))) == 0) continue;
      Row& shown = out[i].emplace_back(row);
      rename(shown, static_cast<Reporter>(i));
    }
  // A review prints free space last, and the longest extent after the average one.
  const auto late = [](const Row& row) {
    return row.start ? 1 + (row.key == "free_extents/max_kb" ? 1 : 0) : 0;
  };
  for (const Reporter reporter : {Reporter::review, Reporter::hunt})
    std::ranges::stable_sort(out[static_cast<std::size_t>(reporter)], {}, late);
  for (std::vector<Row>& table : out)
    for (std::size_t i = 0; i < table.size(); ++i) table[i].index = i;
  return out;
}

struct Made {
  std::mutex making;
  std::vector<Row> added;
  // The key is the number of criteria that policy files have defined, and the number of rows added.
  std::map<std::pair<std::size_t, std::size_t>, Tables> all;
};

Made& made() {
  static Made out;
  return out;
}

}  // namespace

std::span<const Row> rows(Reporter reporter) {
  Made& known = made();
  const std::lock_guard lock(known.making);
  const auto [at, is_new] =
      known.all.try_emplace({mb::own_criteria(), known.added.size()}, Tables());
  if (is_new) {
    std::vector<Row> all = table();
    all.insert(all.end(), known.added.begin(), known.added.end());
    at->second = tables_of(all);
  }
  return at->second[static_cast<std::size_t>(reporter)];
}

const Row* find_row(std::string_view key, Reporter reporter) {
  const auto all = rows(reporter);
  const auto found = std::ranges::find(all, key, &Row::key);
  return found == all.end() ? nullptr : &*found;
}

void add_row(Row row) {
  Made& known = made();
  const std::lock_guard lock(known.making);
  known.added.push_back(std::move(row));
}

}  // namespace e4r::results
