// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/html_text.h"

#include <algorithm>
#include <cctype>

#include "report/agreement_rows.h"
#include "report/columns.h"
#include "report/json_parts.h"
#include "report/page.h"
#include "util/units.h"

namespace e4r::report {
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

// A search through thousands of groups says the same of each: the head and the end of a long text.
std::string shortened(const std::string& text) {
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

std::string html_facts(const ReplayReport& report) {
  const image::SuperblockInfo& g = report.superblock;
  std::string out =
      fact(fmt::format("Image {}: {}, {} blocks, {} groups", report.image_path,
                       format_size(g.blocks_count * g.block_size()), format_size(g.block_size()),
                       format_count(g.groups))) +
      fact(fmt::format("Trace {}: {} events, {} requests, Linux {}", report.trace_path,
                       format_count(report.trace.events),
                       format_count(report.trace.count(trace::EventKind::request_blocks)),
                       kernel_text(report)));
  for (const std::string& line : trace::not_understood(report.trace))
    out += fact("Not understood: " + line);
  if (report.contradictions.any())
    out += fact("The trace contradicts itself or the image: " + describe(report.contradictions));
  for (const NotModelled& what : report.not_modelled) out += fact("Not modelled: " + what.meaning);
  if (report.recorded) out += fact(fidelity_fact(report));
  if (report.kernel) {
    std::string text = recorded_text(*report.kernel);
    text.front() = static_cast<char>(std::toupper(text.front()));
    out += fact(text);
  }
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
    if (!shown(row, values)) continue;
    if (row.section != section)
      out += fmt::format("<tr class=\"section\"><td colspan=\"{}\">{}</td></tr>\n",
                         beside.size() + 3, html_escape(section = row.section));
    out += "<tr class=\"row\">" + cell(row.label) +
           cell(row.start ? results::text_of(row.of(report.start)) : "");
    for (const results::Value& value : values) out += cell(results::text_of(value));
    if (report.runs.size() == 2)
      out += cell(results::change_text(values[first_policy(report)], values.back()));
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
      out += fmt::format("<tr><td>{}</td>{}{}</tr>\n", d.number, cell(format_count(d.groups)),
                         cell(format_count(d.extents)));
      if (i < run.explained.size() && !run.explained[i].empty())
        out += fmt::format(
            "<tr class=\"why\"><td colspan=\"3\"><details><summary>why</summary>"
            "<pre>{}</pre></details></td></tr>\n",
            html_escape(shortened(run.explained[i])));
    }
    out += "</tbody></table></div>\n";
  }
  return out;
}

}  // namespace e4r::report
