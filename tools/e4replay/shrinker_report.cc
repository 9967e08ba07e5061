// SPDX-License-Identifier: GPL-2.0-or-later
#include "e4replay/shrinker_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value_from.hpp>

#include "json/text.h"
#include "report/json_parts.h"
#include "results/value.h"
#include "util/escaped.h"
#include "util/text_table.h"
#include "util/units.h"

namespace e4r::tools {
namespace {

using shrinker::Agreement;
using shrinker::Compared;
using shrinker::Outcome;

results::Value ratio(std::uint64_t of, std::uint64_t to) {
  if (to == 0) return std::monostate();
  return static_cast<double>(of) / static_cast<double>(to);
}

// One figure of a model's run, the same in the table and in the JSON document.
struct Row {
  const char* label;
  const char* key;
  results::Value (*value)(const Outcome&);
};

constexpr std::array kRows = {
    Row{"calls of the shrinker", "calls",
        [](const Outcome& o) -> results::Value { return o.calls; }},
    Row{"entries visited", "visited", [](const Outcome& o) -> results::Value { return o.visited; }},
    Row{"entries reclaimed", "reclaimed",
        [](const Outcome& o) -> results::Value { return o.reclaimed; }},
    Row{"visits per reclaimed entry", "visits_per_reclaim",
        [](const Outcome& o) -> results::Value { return ratio(o.visited, o.reclaimed); }},
    Row{"most visits in a call", "most_visited",
        [](const Outcome& o) -> results::Value { return o.most_visited; }},
    Row{"calls that reclaimed nothing", "empty_calls",
        [](const Outcome& o) -> results::Value { return o.empty_calls; }},
    Row{"lookups", "lookups", [](const Outcome& o) -> results::Value { return o.lookups; }},
    Row{"  answered", "hits", [](const Outcome& o) -> results::Value { return o.hits; }},
    Row{"  not answered: reclaimed", "lost_hits",
        [](const Outcome& o) -> results::Value { return o.lost_hits; }},
    Row{"entries, at most", "most_entries",
        [](const Outcome& o) -> results::Value { return o.most_entries; }},
    Row{"  reclaimable, at most", "most_reclaimable",
        [](const Outcome& o) -> results::Value { return o.most_reclaimable; }},
    Row{"entries at the end", "entries",
        [](const Outcome& o) -> results::Value { return o.entries; }},
    Row{"  reclaimable", "reclaimable",
        [](const Outcome& o) -> results::Value { return o.reclaimable; }},
};

std::string of_all(const Compared& c) {
  const auto percent = c.percent();
  return fmt::format("{:>11} of {:<11} {}", format_count(c.same), format_count(c.all),
                     percent ? fmt::format("{:.4f} %", *percent) : "-");
}

std::string head(const ShrinkerReport& report) {
  const Agreement& a = report.recorded.agreement;
  std::string out = fmt::format("trace        {}\nevents       {} of extent status trees\n",
                                escaped(report.trace), format_count(report.recorded.events));
  out +=
      fmt::format("recorded     as {} does it, alike are\n", report.recorded.followed.model->name);
  out += fmt::format("             calls of the shrinker    {}\n", of_all(a.scans));
  out += fmt::format("             reclaimable entries then {}\n", of_all(a.reclaimable));
  out += fmt::format("             lookups                  {}\n", of_all(a.lookups));
  if (a.unseen > 0)
    out += fmt::format("             {} entries were there before the trace began\n",
                       format_count(a.unseen));
  if (report.recorded.inodes_skipped > 0)
    out += fmt::format(
        "             the recorded shrinker passed over {} locked or precached inodes\n",
        format_count(report.recorded.inodes_skipped));
  if (report.recorded.contradictions > 0)
    out += fmt::format("             {} events contradict each other and were left out\n",
                       format_count(report.recorded.contradictions));
  for (const std::string& line : report.not_understood)
    out += fmt::format("missing      {}\n", escaped(line));
  if (!a.first.empty()) out += fmt::format("differs      first at {}\n", a.first);
  if (report.recorded.followed.calls > 0)
    out += fmt::format("time         {} us in the recorded shrinker, the longest call {} us\n",
                       format_count(report.recorded.recorded_us),
                       format_count(report.recorded.longest_us));
  return out;
}

boost::json::object json_of(const Compared& compared) {
  return {{"all", compared.all}, {"same", compared.same}};
}

boost::json::object json_of(const Outcome& outcome) {
  boost::json::object out = {{"model", outcome.model->name}};
  for (const Row& row : kRows) out[row.key] = report::json_of(row.value(outcome));
  return out;
}

boost::json::object agreement_json(const shrinker::Replay& recorded) {
  const Agreement& a = recorded.agreement;
  const auto percent = percent_same(a);
  return {{"model", recorded.followed.model->name},
          {"percent_identical", percent ? boost::json::value(*percent) : nullptr},
          {"lookups", json_of(a.lookups)},
          {"calls", json_of(a.scans)},
          {"reclaimable", json_of(a.reclaimable)},
          {"unseen", a.unseen},
          {"first_difference",
           a.first.empty() ? boost::json::value(nullptr) : boost::json::value(a.first)}};
}

}  // namespace

std::optional<double> percent_same(const Agreement& agreement) {
  const auto calls = agreement.scans.percent();
  if (!calls) return std::nullopt;
  return std::min(*calls, agreement.lookups.percent().value_or(100));
}

std::string shrinker_text(const ShrinkerReport& report) {
  std::string out = head(report);
  if (report.runs.empty()) return out;
  TextTable table;
  std::vector<std::string> cells = {""};
  for (const Outcome& run : report.runs) cells.emplace_back(run.model->name);
  table.row(cells);
  table.rule();
  for (const Row& row : kRows) {
    cells = {row.label};
    for (const Outcome& run : report.runs) cells.push_back(results::text_of(row.value(run)));
    table.row(cells);
  }
  return out + "\n" + table.text();
}

std::string shrinker_json(const ShrinkerReport& report) {
  boost::json::array runs;
  for (const Outcome& run : report.runs) runs.push_back(json_of(run));
  const boost::json::object shrinker = {
      {"trace", report.trace},
      {"events", report.recorded.events},
      {"contradictions", report.recorded.contradictions},
      {"inodes_skipped", report.recorded.inodes_skipped},
      {"recorded_us", report.recorded.recorded_us},
      {"longest_us", report.recorded.longest_us},
      {"recorded", agreement_json(report.recorded)},
      {"not_understood", boost::json::value_from(report.not_understood)},
      {"runs", runs}};
  return json_text({{"schema", "e4replay-shrinker/1"}, {"shrinker", shrinker}});
}

}  // namespace e4r::tools
