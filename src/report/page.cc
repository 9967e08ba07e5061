// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cctype>
#include <cmath>
#include <set>

#include "json/text.h"
#include "report/json_parts.h"
#include "report/replay_report.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::report {

// The plots' data, the script that draws them, and a message for browsers without scripts.
static std::string html_plots(const Page& page) {
  return fmt::format(
      "<script type=\"application/json\" id=\"data\">{}</script>\n"
      "<script>\n'use strict';\n(() => {{\n{}{}}})();\n</script>\n",
      page.data, kPartsJs, page.script);
}

std::string html_page(const Page& page) {
  const bool plots = !page.script.empty();
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>{}</style></head>\n"
      "<body>\n<header><h1>{}</h1>\n<p class=\"headline\">{}</p>\n{}</header>\n"
      "{}<main>\n{}</main>\n{}</body></html>\n",
      html_escape(page.title), kPageCss, html_escape(page.heading), html_escape(page.headline),
      page.summary,
      plots ? "<noscript><p class=\"note\">The plots need JavaScript; the tables do not.</p>"
              "</noscript>\n"
            : "",
      page.body, plots ? html_plots(page) : std::string());
}

std::string html_escape(std::string_view text) {
  std::string out;
  for (const char c : escape_lines(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string script_json(const boost::json::value& value) {
  std::string out;
  for (const char c : json_line(value)) c == '<' ? out += "\\u003c" : out += c;
  return out;
}

std::string html_figure(std::string_view id, std::string_view title, std::string_view text) {
  return fmt::format(
      "<figure><figcaption><b>{}</b> {}</figcaption><div class=\"plot\" "
      "id=\"{}\"></div></figure>\n",
      title, text, id);
}

// The name that the style sheet uses for the colour of a series.
static std::string colour_name(std::size_t series) {
  if (series == kRecordedSeries) return "recorded";
  return fmt::format("s{}", series == 0 ? 0 : 1 + (series - 1) % 7);
}

std::string html_card(std::string_view title, const std::vector<CardLine>& lines) {
  std::string out = fmt::format("<div class=\"card\"><h3>{}</h3><dl>\n", html_escape(title));
  for (const CardLine& line : lines)
    out += fmt::format(
        "<dt style=\"--colour:var(--{})\">{}</dt><dd class=\"value\">{}</dd><dd "
        "class=\"change\">{}</dd>\n",
        colour_name(line.series), html_escape(line.name), html_escape(line.value),
        html_escape(line.change));
  return out + "</dl></div>\n";
}

namespace {

std::string cell(std::string_view text) {
  return fmt::format("<td>{}</td>", html_escape(text));
}

std::string fact(const std::string& text) {
  return fmt::format("<p class=\"facts\">{}</p>\n", html_escape(text));
}

std::string table_head(const ReplayReport& report) {
  std::string out = "<thead><tr><th></th><th>start</th>";
  for (const Column& column : columns(report))
    out += fmt::format("<th>{}</th>", html_escape(column.name));
  if (report.runs.size() == 2) out += fmt::format("<th>{}</th>", html_escape(change_head(report)));
  return out + "</tr></thead>\n";
}

std::string fidelity_fact(const ReplayReport& report) {
  return fmt::format("Model: {} of {} recorded decisions identical under {} ({})",
                     format_count(report.recorded->identical),
                     format_count(report.recorded->requests), report.recorded_policy,
                     share_text(*report.recorded, report.recorded->identical));
}

// Shortens a long explanation to its beginning and its end, because a search through thousands of
// groups prints a similar line for each of them.
std::string shorten(const std::string& text) {
  constexpr std::size_t kHead = 40, kTail = 12;
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(std::string_view(text).substr(at, end - at));
    at = end + 1;
  }
  if (lines.size() <= kHead + kTail + 1) return text;
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i == kHead)
      out += fmt::format("    ... {} lines ...\n", format_count(lines.size() - kHead - kTail));
    if (i < kHead || i >= lines.size() - kTail) out += fmt::format("{}\n", lines[i]);
  }
  return out;
}

}  // namespace

namespace {

std::string workload_facts(const WorkloadFacts& workload) {
  std::string out;
  for (const std::string& line : workload_text(workload)) out += fact(line);
  return out;
}

}  // namespace

std::string html_facts(const ReplayReport& report) {
  const image::SuperblockInfo& g = report.superblock;
  std::string out =
      fact(fmt::format("Image {}: {}, {} blocks, {} groups", report.image_path,
                       format_size(g.blocks_count * g.block_size()), format_size(g.block_size()),
                       format_count(g.groups))) +
      (report.workload
           ? workload_facts(*report.workload)
           : fact(fmt::format("Trace {}: {} events, {} requests, Linux {}", report.trace_path,
                              format_count(report.trace.events),
                              format_count(report.trace.count(trace::EventKind::request_blocks)),
                              kernel_text(report))));
  for (const std::string& line : trace::not_understood(report.trace))
    out += fact("Not understood: " + line);
  if (report.contradictions.any())
    out += fact("The trace contradicts itself or the image: " + describe(report.contradictions));
  for (const NotModelled& what : report.not_modelled) out += fact("Not modelled: " + what.meaning);
  if (report.recorded && !report.workload) out += fact(fidelity_fact(report));
  for (std::string line : {choice_text(report), doubt_text(report), early_reads_text(report)})
    if (!line.empty()) {
      line.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(line.front())));
      out += fact(line);
    }
  if (report.kernel) {
    std::string text = recorded_text(*report.kernel);
    text.front() = static_cast<char>(std::toupper(text.front()));
    out += fact(text);
  }
  if (const std::string luck = luck_text(report); !luck.empty()) out += fact("Luck: " + luck);
  for (const results::Outcome& run : report.runs)
    if (run.unverified())
      out += fact(
          fmt::format("{} is unverified: it was never compared with a kernel", run.policy->name));
  return out;
}

std::string html_rows(const ReplayReport& report) {
  std::string out = "<table class=\"all\">\n" + table_head(report) + "<tbody>\n";
  const std::vector<Column> beside = columns(report);
  std::string section;
  for (const results::Row& row : results::rows()) {
    const std::vector<results::Value> values = values_of(row, beside);
    if (!is_shown(row, values)) continue;
    if (row.section != section)
      out += fmt::format("<tr class=\"section\"><td colspan=\"{}\">{}</td></tr>\n",
                         beside.size() + 3, html_escape(section = row.section));
    out += "<tr class=\"row\">" + cell(row.label) +
           cell(row.start ? results::text_of(row.of(report.start)) : "");
    for (const results::Value& value : values) out += cell(results::text_of(value));
    if (report.runs.size() == 2) out += cell(change_text(report, row, values));
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

std::string html_histogram(const ReplayReport& report) {
  using stats::FreeExtents;
  const std::vector<Column> columns = columns_with_start(report);
  std::string out =
      "<table class=\"bars\">\n<thead><tr><th>size</th><th></th><th>extents</th>"
      "<th>of free blocks</th></tr></thead>\n";
  const std::uint64_t block_kb = report.superblock.block_size() / 1024;
  for (std::size_t bucket = 0; bucket < FreeExtents::kBuckets; ++bucket) {
    if (std::none_of(columns.begin(), columns.end(), [&](const Column& c) {
          return c.run->free.extents.buckets[bucket].extents != 0;
        }))
      continue;
    out += "<tbody>\n";
    std::string size = fmt::format("{} to {}", format_size(bucket_kb(bucket, block_kb) * 1024),
                                   format_size(bucket_kb(bucket + 1, block_kb) * 1024));
    for (const Column& column : columns) {
      const FreeExtents& free = column.run->free.extents;
      const FreeExtents::Bucket& b = free.buckets[bucket];
      const double percent = free.blocks == 0 ? 0
                                              : 100.0 * static_cast<double>(b.blocks) /
                                                    static_cast<double>(free.blocks);
      out += fmt::format("<tr>{}{}{}<td>{:.2f} %</td></tr>\n", cell(size), cell(column.name),
                         cell(format_count(b.extents)), percent);
      size.clear();
    }
    out += "</tbody>\n";
  }
  return out + "</table>\n";
}

std::string html_slowest(const ReplayReport& report) {
  std::string out;
  for (const results::Outcome& run : report.runs) {
    if (run.costs.slowest().empty()) continue;
    out += fmt::format(
        "<div><h3>{}</h3>\n<table class=\"slow\"><thead><tr><th>decision</th><th>groups "
        "considered</th><th>extents examined</th></tr></thead><tbody>\n",
        html_escape(run.policy->name));
    for (std::size_t i = 0; i < run.costs.slowest().size(); ++i) {
      const replay::CostProfile::Decision& d = run.costs.slowest()[i];
      out += fmt::format("<tr><td>{}</td>{}{}</tr>\n", d.number,
                         cell(d.cost.groups ? format_count(*d.cost.groups) : "-"),
                         cell(format_count(d.cost.extents)));
      if (i < run.explained.size() && !run.explained[i].empty())
        out += fmt::format(
            "<tr class=\"why\"><td colspan=\"3\"><details><summary>why</summary>"
            "<pre>{}</pre></details></td></tr>\n",
            html_escape(shorten(run.explained[i])));
    }
    out += "</tbody></table></div>\n";
  }
  return out;
}

namespace {

namespace json = boost::json;
using stats::FreeExtents;

double round_figure(double value) {
  return std::round(value * 100) / 100;
}

json::object histogram(const ReplayReport& report) {
  const std::vector<Column> columns = columns_with_start(report);
  std::size_t first = FreeExtents::kBuckets, last = 0;
  for (std::size_t k = 1; k < FreeExtents::kBuckets; ++k)
    for (const Column& column : columns)
      if (column.run->free.extents.buckets[k].extents > 0) {
        first = std::min(first, k);
        last = k;
      }
  json::array from, extents, percent;
  for (std::size_t k = first; k <= last; ++k)
    from.emplace_back(bucket_kb(k, report.superblock.block_size() / 1024));
  for (const Column& column : columns) {
    const FreeExtents& free = column.run->free.extents;
    json::array counts, shares;
    for (std::size_t k = first; k <= last; ++k) {
      counts.emplace_back(free.buckets[k].extents);
      shares.emplace_back(free.blocks == 0
                              ? 0.0
                              : round_figure(100 * static_cast<double>(free.buckets[k].blocks) /
                                             static_cast<double>(free.blocks)));
    }
    extents.push_back(std::move(counts));
    percent.push_back(std::move(shares));
  }
  return {{"from_kb", std::move(from)},
          {"extents", std::move(extents)},
          {"percent", std::move(percent)}};
}

using Counters = stats::KnownCounters::PerCriterion;
using Counter = stats::KnownCounters::Count Counters::*;

// The counter of each criterion, for each column. A column is null if its counter is known for no
// criterion.
json::array per_criterion(const ReplayReport& report, const std::vector<mb::Criterion>& criteria,
                          Counter counter) {
  json::array out;
  for (const Column& column : columns(report)) {
    json::array values;
    bool known = false;
    for (const mb::Criterion c : criteria) {
      const auto value = column.run->searches[c].*counter;
      known = known || value;
      values.emplace_back(value.value_or(0));
    }
    out.push_back(known ? json::value(std::move(values)) : json::value());
  }
  return out;
}

json::object criteria(const ReplayReport& report) {
  constexpr std::array<Counter, 3> kCounters = {&Counters::hits, &Counters::groups_considered,
                                                &Counters::extents_scanned};
  std::vector<mb::Criterion> used;
  json::array names;
  std::vector<mb::CriterionRow> all = mb::ladder_criteria();
  all.push_back(mb::row_of(mb::Criterion::past_last));
  for (const mb::CriterionRow& row : all) {
    const auto any = [&](const Column& column) {
      return std::ranges::any_of(kCounters, [&](Counter counter) {
        return (column.run->searches[row.criterion].*counter).value_or(0) > 0;
      });
    };
    if (std::ranges::none_of(columns(report), any)) continue;
    used.push_back(row.criterion);
    names.emplace_back(row.name);
  }
  return {{"names", std::move(names)},
          {"hits", per_criterion(report, used, kCounters[0])},
          {"groups", per_criterion(report, used, kCounters[1])},
          {"extents", per_criterion(report, used, kCounters[2])}};
}

// The costs of decisions under each policy. The recorded kernel is left out, because its trace does
// not show the cost of single decisions.
json::array costs(const ReplayReport& report) {
  json::array out;
  for (const results::Outcome& run : report.runs) {
    json::array requests, steps, most;
    for (const replay::CostProfile::Bucket& bucket : run.costs.course().buckets()) {
      requests.emplace_back(bucket.requests);
      steps.emplace_back(bucket.steps);
      most.emplace_back(bucket.most);
    }
    out.push_back({{"width", run.costs.course().width()},
                   {"decisions", run.costs.decisions()},
                   {"requests", std::move(requests)},
                   {"steps", std::move(steps)},
                   {"most", std::move(most)}});
  }
  return out;
}

std::string extents_label(std::size_t bucket) {
  if (bucket < 2) return bucket == 0 ? "1" : "2";
  const std::uint64_t most = 1ull << bucket;
  if (bucket + 1 == stats::FileLayoutScore::kBuckets) return fmt::format("over {}", most / 2);
  return fmt::format("{} to {}", most / 2 + 1, most);
}

json::object files(const ReplayReport& report) {
  using ByExtents = decltype(stats::FileLayoutScore::by_extents);
  std::size_t buckets = 1;
  const std::vector<Column> all = columns(report);
  for (const Column& column : all) {
    const ByExtents& by = column.run->layout.by_extents;
    for (std::size_t k = 0; k < by.size(); ++k)
      if (by[k] > 0) buckets = std::max(buckets, k + 1);
  }
  json::array labels, counts;
  for (std::size_t k = 0; k < buckets; ++k) labels.emplace_back(extents_label(k));
  for (const Column& column : all) {
    const ByExtents& by = column.run->layout.by_extents;
    counts.emplace_back(json::array(by.begin(), by.begin() + static_cast<std::ptrdiff_t>(buckets)));
  }
  return {{"labels", std::move(labels)}, {"files", std::move(counts)}};
}

// The free space of all groups of a cell.
struct CellFree {
  std::uint64_t clusters = 0;
  std::uint64_t runs = 0;
};

CellFree sum_of(const std::vector<stats::GroupFree>& groups, std::size_t cell,
                std::size_t per_cell) {
  CellFree out;
  for (std::size_t i = cell * per_cell; i < std::min((cell + 1) * per_cell, groups.size()); ++i) {
    out.clusters += groups[i].clusters;
    out.runs += groups[i].runs;
  }
  return out;
}

// Returns for each frame the cells that change.
json::array history(const results::Outcome& run, const std::vector<stats::GroupFree>& start,
                    std::size_t per_cell) {
  std::vector<stats::GroupFree> now = start;
  json::array out;
  for (const stats::SpaceHistory::Frame& frame : run.history.frames()) {
    std::set<std::size_t> touched;
    for (const stats::SpaceHistory::Change& change : frame.changes) {
      now[change.group] = change.now;
      touched.insert(change.group / per_cell);
    }
    json::array cells, free, runs;
    for (const std::size_t cell : touched) {
      const CellFree sum = sum_of(now, cell, per_cell);
      cells.emplace_back(cell);
      free.emplace_back(sum.clusters);
      runs.emplace_back(sum.runs);
    }
    out.push_back({{"decision", frame.decision},
                   {"cells", std::move(cells)},
                   {"free", std::move(free)},
                   {"runs", std::move(runs)}});
  }
  return out;
}

json::object map(const ReplayReport& report) {
  const image::SuperblockInfo& g = report.superblock;
  const std::size_t groups = report.start.free.space.groups.size();
  const std::size_t per_cell = std::max<std::size_t>((groups + kMostCells - 1) / kMostCells, 1);
  json::array free, runs;
  const auto add = [&](const stats::FreeSpace& space) {
    json::array clusters, fragments;
    for (std::size_t cell = 0; cell * per_cell < groups; ++cell) {
      const CellFree sum = sum_of(space.groups, cell, per_cell);
      clusters.emplace_back(sum.clusters);
      fragments.emplace_back(sum.runs);
    }
    free.push_back(std::move(clusters));
    runs.push_back(std::move(fragments));
  };
  json::array histories;
  add(report.start.free.space);
  for (const Column& column : columns(report)) {
    add(column.run->free.space);
    histories.push_back(history(*column.run, report.start.free.space.groups, per_cell));
  }
  const std::uint64_t ratio = 1ull << g.cluster_bits;
  return {{"groups", groups},
          {"per_cell", per_cell},
          {"clusters", (g.blocks_count - g.first_data_block + ratio - 1) / ratio},
          {"clusters_per_group", g.blocks_per_group / ratio},
          {"cluster_kb", g.block_size() / 1024 * ratio},
          {"free", std::move(free)},
          {"runs", std::move(runs)},
          {"history", std::move(histories)}};
}

// Returns for each policy its outcomes with different numbers of writers.
json::array writers(const ReplayReport& report) {
  json::array out;
  for (const results::Outcome& run : report.runs) {
    json::array outcomes;
    for (const results::Outcome& by : run.by_writers) {
      const contention::SimulationOutcome& outcome = *by.writers;
      json::array locks;
      for (const auto& [name, waits] : outcome.waits)
        locks.push_back(
            {{"name", name}, {"percent", round_figure(100 * outcome.share_waited(waits))}});
      outcomes.push_back(
          {{"writers", outcome.writers},
           {"rate", std::round(outcome.requests_per_second())},
           {"waiting", round_figure(100 * outcome.share_waited(outcome.all_waits()))},
           {"locks", std::move(locks)}});
    }
    out.push_back(std::move(outcomes));
  }
  return out;
}

}  // namespace

std::string html_data(const ReplayReport& report) {
  json::array policies;
  for (const results::Outcome& run : report.runs) policies.emplace_back(run.policy->name);
  json::object data = {{"recorded", first_policy(report) > 0},
                       {"policies", std::move(policies)},
                       {"criteria", criteria(report)},
                       {"cost", costs(report)},
                       {"histogram", histogram(report)},
                       {"map", map(report)},
                       {"files", files(report)}};
  if (has_writers(report)) data["writers"] = writers(report);
  return script_json(data);
}

}  // namespace e4r::report
