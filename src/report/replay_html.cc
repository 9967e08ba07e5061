// SPDX-License-Identifier: GPL-2.0-or-later
// The comparison as one self-contained page: the rows of the table, and histograms drawn as bars.
#include <algorithm>

#include "report/json_parts.h"
#include "report/replay_report.h"
#include "report/rows.h"
#include "util/units.h"

namespace e4r::report {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
p.facts { color: color-mix(in srgb, currentColor 70%, transparent); margin: .2rem 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .22rem .6rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
thead th { border-bottom: 2px solid currentColor; position: sticky; top: 0; background: Canvas; }
tr.section td { font-weight: 600; padding-top: .8rem; text-align: left; }
tr.row:hover { background: color-mix(in srgb, currentColor 8%, transparent); }
td:first-child { white-space: pre; }
.bars td.bar { width: 28%; }
.bar div { height: .8rem; background: #8a8f98; min-width: 1px; }
.bars tr:nth-child(2) .bar div { background: #4c78a8; }
.bars tr:nth-child(3) .bar div { background: #f58518; }
.bars tr:nth-child(4) .bar div { background: #54a24b; }
)";

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
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

std::string cell(std::string_view text) {
  return fmt::format("<td>{}</td>", escape(text));
}

std::string facts(const ReplayReport& report) {
  const image::Geometry& g = report.geometry;
  std::string out = fmt::format(
      "<p class=\"facts\">Image {}: {}, {} blocks, {} groups</p>\n"
      "<p class=\"facts\">Trace {}: {} events, {} requests, Linux {}</p>\n",
      escape(report.image_path), format_size(g.blocks_count * g.block_size),
      format_size(g.block_size), format_count(g.groups_count), escape(report.trace_path),
      format_count(report.trace.events),
      format_count(report.trace.count(trace::EventKind::request_blocks)),
      trace::kernel_of(report.trace));
  if (report.contradictions.any())
    out += fmt::format("<p class=\"facts\">The trace contradicts itself or the image: {}</p>\n",
                       escape(describe(report.contradictions)));
  if (report.recorded)
    out += fmt::format(
        "<p class=\"facts\">Model: {} of {} recorded decisions identical under {} ({})</p>\n",
        format_count(report.recorded->identical), format_count(report.recorded->requests),
        report.recorded_policy,
        report.recorded->requests == 0
            ? "-"
            : fmt::format("{:.3f} %", *report.recorded->percent_identical()));
  for (const RunReport& run : report.runs)
    if (run.unverified())
      out += fmt::format("<p class=\"facts\">{} is unverified: it was held against no kernel</p>\n",
                         escape(run.policy->name));
  return out;
}

std::string head(const ReplayReport& report) {
  std::string out = "<thead><tr><th></th><th>start</th>";
  for (const RunReport& run : report.runs)
    out += fmt::format("<th>{}</th>", escape(run.policy->name));
  if (report.runs.size() == 2) out += "<th>change</th>";
  return out + "</tr></thead>\n";
}

std::string table(const ReplayReport& report) {
  std::string out = "<table>\n" + head(report) + "<tbody>\n";
  std::string section;
  for (const Row& row : rows()) {
    const std::vector<Value> values = values_of(row, report);
    if (!shown(row, values)) continue;
    if (row.section != section)
      out += fmt::format("<tr class=\"section\"><td colspan=\"{}\">{}</td></tr>\n",
                         report.runs.size() + 3, escape(section = row.section));
    out +=
        "<tr class=\"row\">" + cell(row.label) + cell(row.start ? text_of(row.start(report)) : "");
    for (const Value& value : values) out += cell(text_of(value));
    if (values.size() == 2) out += cell(change_text(values[0], values[1]));
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

// One histogram row per bucket and column: extents, and a bar for the share of free blocks.
std::string histogram(const ReplayReport& report) {
  using stats::FreeExtents;
  std::vector<std::pair<std::string, const FreeExtents*>> columns = {{"start", &report.before}};
  for (const RunReport& run : report.runs)
    columns.emplace_back(run.policy->name, &run.free_extents);
  std::string out =
      "<h2>Free extents by size</h2>\n<table class=\"bars\">\n<thead><tr><th>size</th><th></th>"
      "<th>extents</th><th>of free blocks</th><th></th></tr></thead>\n";
  const std::uint64_t block_kb = report.geometry.block_size / 1024;
  for (std::size_t bucket = 0; bucket < FreeExtents::kBuckets; ++bucket) {
    if (std::none_of(columns.begin(), columns.end(),
                     [&](const auto& c) { return c.second->buckets[bucket].extents != 0; }))
      continue;
    out += "<tbody>\n";
    std::string size = fmt::format("{} to {}", format_size(bucket_kb(bucket, block_kb) * 1024),
                                   format_size(bucket_kb(bucket + 1, block_kb) * 1024));
    for (const auto& [name, extents] : columns) {
      const FreeExtents::Bucket& b = extents->buckets[bucket];
      const double percent = extents->blocks == 0 ? 0
                                                  : 100.0 * static_cast<double>(b.blocks) /
                                                        static_cast<double>(extents->blocks);
      out += fmt::format(
          "<tr>{}{}{}<td>{:.2f} %</td><td class=\"bar\"><div style=\"width:{:.2f}%\"></div></td>"
          "</tr>\n",
          cell(size), cell(name), cell(format_count(b.extents)), percent, percent);
      size.clear();
    }
    out += "</tbody>\n";
  }
  return out + "</table>\n";
}

}  // namespace

std::string replay_html(const ReplayReport& report) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<title>e4replay: {}</title>\n<style>{}</style></head>\n<body>\n<h1>Allocator replay</h1>\n"
      "{}<h2>What each policy did</h2>\n{}{}</body></html>\n",
      escape(report.trace_path), kStyle, facts(report), table(report), histogram(report));
}

}  // namespace e4r::report
