// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/document.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cmath>

#include "report/json_parts.h"
#include "results/rows.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::watch {
namespace {

using results::Reporter;
using results::Row;

// The figures that are shown by default, with short titles.
struct UsualFigure {
  std::string_view key, on_page, in_lines;
  std::size_t page_width, lines_width;
};
constexpr auto kUsualFigures = std::to_array<UsualFigure>({
    {"requests_per_s", "requests/s", "requests/s", 10, 10},
    {"failed", "failed", "failed", 7, 7},
    {"groups_per_request", "groups/req", "groups/req", 10, 10},
    {"extents_per_request", "extents/req", "extents/req", 11, 11},
    {"free_extents/avg_kb", "free ext, KB", "free extent, KB", 12, 15},
    {"files/avg_extents", "ext/file", "extents/file", 8, 12},
});

Result<const Row*> find_figure(std::string_view key) {
  if (const Row* const row = results::find_row(key, Reporter::watch)) return row;
  std::string known;
  for (const Row& row : results::rows(Reporter::watch))
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.key);
  return error("no figure '{}': choose from {}", printable(key), known);
}

}  // namespace

FigureTitle title_of(const Row& row, ShownIn where) {
  constexpr std::size_t kWidth = 11;  // the width of "999,999,999"
  const auto usual = std::ranges::find(kUsualFigures, row.key, &UsualFigure::key);
  if (usual == kUsualFigures.end()) return {row.key, std::max(row.key.size(), kWidth)};
  if (where == ShownIn::page) return {std::string(usual->on_page), usual->page_width};
  return {std::string(usual->in_lines), usual->lines_width};
}

ShownFigures::ShownFigures() {
  for (const UsualFigure& usual : kUsualFigures)
    if (const Row* const row = results::find_row(usual.key, Reporter::watch)) rows_.push_back(row);
}

Result<ShownFigures> ShownFigures::parse(std::string_view keys) {
  ShownFigures out;
  out.rows_.clear();
  for (bool more = true; more;) {
    const std::size_t comma = keys.find(',');
    const std::string_view key = trim(keys.substr(0, comma));
    E4R_TRY(const Row* const row, find_figure(key));
    if (out.has(*row)) return error("'{}' is given twice", key);
    out.rows_.push_back(row);
    more = comma != std::string_view::npos;
    if (more) keys.remove_prefix(comma + 1);
  }
  return out;
}

bool ShownFigures::has(const Row& row) const {
  return std::ranges::find(rows_, row.key, &Row::key) != rows_.end();
}

void ShownFigures::toggle(const Row& row) {
  const auto found = std::ranges::find(rows_, row.key, &Row::key);
  if (found == rows_.end())
    rows_.insert(rows_.begin(), &row);
  else
    rows_.erase(found);
}

namespace {

namespace json = boost::json;

json::value number_or_null(const std::optional<GroupsCheck>& check,
                           std::uint64_t (*of)(const GroupsCheck&)) {
  return check ? json::value(of(*check)) : json::value();
}

json::object groups_json(const Picture& picture) {
  json::object out;
  out["checks"] = picture.checks;
  out["compared"] = number_or_null(picture.check, [](const GroupsCheck& c) { return c.compared; });
  out["changed"] = number_or_null(picture.check, [](const GroupsCheck& c) { return c.changed; });
  out["unexplained"] =
      number_or_null(picture.check, [](const GroupsCheck& c) { return c.unexplained; });
  out["differing"] = number_or_null(
      picture.check, [](const GroupsCheck& c) { return std::uint64_t{c.differing.size()}; });
  out["first"] = picture.check ? picture.check->first : std::string();
  return out;
}

json::value lazy_init_json(const std::optional<LazyInitProgress>& progress) {
  if (!progress) return nullptr;
  const auto or_null = [](std::optional<double> number) {
    return number ? json::value(*number) : json::value();
  };
  return json::object{{"groups_left", progress->groups_left},
                      {"runs", progress->runs},
                      {"groups_per_s", or_null(progress->groups_per_s)},
                      {"seconds_left", or_null(progress->seconds_left())}};
}

// The escaped name, or null if it is unknown.
json::value name_or_null(const std::string& name) {
  return name.empty() ? json::value() : json::value(escape(name));
}

json::object costly_json(const CostlyRequest& request, Names* names) {
  json::object out;
  out["time_ns"] = request.time_ns;
  out["pid"] = request.pid;
  out["process"] = names == nullptr ? json::value() : name_or_null(names->process(request.pid));
  out["inode"] = request.ino;
  out["file"] = names == nullptr ? json::value() : name_or_null(names->file(request.ino));
  out["clusters"] = request.clusters;
  out["groups_considered"] = request.groups();
  out["extents_scanned"] = request.cost.extents;
  if (request.criterion == mb::Criterion::unknown)
    out["criterion"] = nullptr;
  else
    out["criterion"] = mb::row_of(request.criterion).key;
  return out;
}

json::object column_json(const Column& column) {
  json::object out;
  out["name"] = column.name;
  out["policy"] = column.policy->name;
  for (const Window window : kWindows) {
    const auto& outcome = column.of(window);
    if (!outcome) {
      out[window_name(window)] = nullptr;
      continue;
    }
    json::object figures;
    figures["seconds"] = outcome->elapsed_s;
    report::put_rows(figures, *outcome, results::Reporter::watch);
    out[window_name(window)] = std::move(figures);
  }
  return out;
}

}  // namespace

json::value report_json(const Report& report, Names* names) {
  json::object out;
  out["schema"] = "e4replay-watch/1";
  out["time"] = report.time;
  out["kernel"] = report.kernel;
  out["device"] = report.device;
  out["device_name"] = report.device_name;
  out["mount_point"] = report.mount_point;
  out["follows"] = report.follows;
  out["is_over"] = report.is_over;
  out["starts"] = report.starts;
  out["attempts"] = report.attempts;
  out["frozen_s"] = report.frozen_s;
  out["behind_s"] = report.behind_s;
  out["events"] = report.events;
  out["lost_events"] = report.lost;
  out["backlog_bytes"] = report.backlog_bytes;
  const Picture none;
  const Picture& picture = report.picture ? *report.picture : none;
  out["decisions"] = picture.decisions;
  out["identical"] = picture.identical;
  out["last_difference"] = picture.last_difference;
  out["mb_groups"] = groups_json(picture);
  if (report.keeps) {
    const Report::Keeps& keeps = *report.keeps;
    out["keeps"] = json::object{{"seconds", keeps.held.seconds},
                                {"bytes", keeps.held.bytes},
                                {"files_written", keeps.files},
                                {"last_file", keeps.last_file}};
  } else {
    out["keeps"] = nullptr;
  }
  out["lazy_init"] = lazy_init_json(report.lazy_init);
  json::array columns;
  for (const Column& column : picture.columns) columns.push_back(column_json(column));
  out["columns"] = std::move(columns);
  json::array costly;
  for (const CostlyRequest& request : picture.costly) costly.push_back(costly_json(request, names));
  out["costly"] = std::move(costly);
  json::array notes;
  for (const std::string& note : report.notes) notes.emplace_back(note);
  out["notes"] = std::move(notes);
  return out;
}

std::string figure_text(const results::Value& value) {
  const auto number = results::number_of(value);
  if (!number || *number < 100) return results::text_of(value);
  return format_count(static_cast<std::uint64_t>(std::llround(*number)));
}

std::string ReportLines::head(const Report& report) const {
  std::string out =
      fmt::format("{} on {}, Linux {}; writers waited {:.3f} s for the start image\n",
                  report.mount_point, report.device_name, report.kernel, report.frozen_s);
  out += fmt::format("{:<8}  {:<14}", "UTC", "allocator");
  for (const results::Row* row : figures_.rows()) {
    const FigureTitle title = title_of(*row, ShownIn::lines);
    out += fmt::format("  {:>{}}", title.text, title.width);
  }
  return out + "  identical\n";
}

std::string ReportLines::lines(const Report& report) {
  std::string out;
  if (!report.picture) return out;
  for (const Column& column : report.picture->columns) {
    const auto& now = column.of(Window::start);
    if (!now) continue;
    Before& before = before_[column.name];
    const bool same_start = before.starts == report.starts && before.attempts == report.attempts &&
                            before.outcome.elapsed_s < now->elapsed_s;
    const results::Outcome shown =
        same_start
            ? outcome_between(before.outcome, *now, now->elapsed_s - before.outcome.elapsed_s)
            : *now;
    before = {*now, report.starts, report.attempts};
    out += fmt::format("{:<8}  {:<14}", report.time.substr(11, 8), column.name);
    for (const results::Row* row : figures_.rows())
      out += fmt::format("  {:>{}}", figure_text(row->of(shown)),
                         title_of(*row, ShownIn::lines).width);
    if (column.name == "recorded")
      out += fmt::format("  {} of {}", format_count(report.picture->identical),
                         format_count(report.picture->decisions));
    out += "\n";
  }
  return out;
}

}  // namespace e4r::watch
