// SPDX-License-Identifier: GPL-2.0-or-later
// The comparison as one self-contained page. Headline, facts and tables are there without a script;
// plots are drawn by html/replay.js from html_data().
#include "report/columns.h"
#include "report/fragmented.h"
#include "report/headline.h"
#include "report/html_data.h"
#include "report/html_text.h"
#include "report/page.h"
#include "report/page_assets.h"
#include "report/replay_report.h"
#include "report/writers.h"

namespace e4r::report {
namespace {

std::string card(const ReplayReport& report, const Figure& figure) {
  std::vector<CardLine> lines;
  const std::size_t first = first_policy(report);
  const std::vector<Column> all = columns(report);
  for (std::size_t i = 0; i < all.size(); ++i)
    lines.push_back(
        {all[i].recorded ? kRecordedSeries : i - first + 1, all[i].name,
         results::text_of(figure.values[i]),
         i <= first ? "" : results::change_text(figure.values[first], figure.values[i])});
  return html_card(figure.label, lines);
}

std::string summary(const ReplayReport& report) {
  std::string out = "<div class=\"cards\">\n";
  for (const Figure& figure : key_figures(report)) out += card(report, figure);
  out +=
      "</div>\n<p class=\"note\">A step is a group considered or an extent examined. The figures "
      "of files count the files that the trace wrote.";
  if (report.runs.size() > 1)
    out += fmt::format(" Changes are against {}, the first policy.",
                       html_escape(report.runs.front().policy->name));
  return out + "</p>\n" + html_facts(report);
}

std::string searches(const ReplayReport& report) {
  std::string out =
      "<h2>Searches</h2>\n<div class=\"pair\">\n" +
      html_figure(
          "criteria", "Criteria.",
          "Which criteria ended searches, and what each took. A bar is as long as its total is "
          "large; groups and extents have one scale.") +
      html_figure("cost", "Cost over the trace.",
                  "Lines: the mean of each part of the trace. Hollow marks: its dearest request.") +
      "</div>\n";
  if (const std::string past = past_last_text(report); !past.empty())
    out += fmt::format("<p class=\"note\">{}</p>\n", html_escape(past));
  const std::string slowest = html_slowest(report);
  if (slowest.empty()) return out;
  return out + (report.runs.size() > 2 ? "<details>" : "<details open>") +
         "<summary>The decisions that took most steps</summary>\n<p class=\"note\">"
         "<code>--explain N</code> explains any decision N under each policy.</p>\n<div "
         "class=\"pair wide\">\n" +
         slowest + "</div></details>\n";
}

// With the table of the terminal.
std::string many_writers(const ReplayReport& report) {
  if (!has_writers(report)) return {};
  return "<h2>Many writers</h2>\n<div class=\"pair\">\n" +
         html_figure("rates", "Requests per second.",
                     "A simulation: each writer thinks, computes and takes locks as recorded.") +
         html_figure("waits", "Waiting.",
                     "Share of the writers' time, without the time that they waited for a CPU.") +
         "</div>\n<details><summary>As a table</summary><div class=\"wide\" tabindex=\"0\" "
         "role=\"region\" aria-label=\"many writers\">\n<pre>" +
         html_escape(writers_text(report)) + "</pre></div></details>\n";
}

std::string free_space(const ReplayReport& report) {
  return "<h2>Free space</h2>\n" +
         html_figure("histogram", "Free extents by size.",
                     "Each bar: extents from this size to twice it.") +
         "<details><summary>As a table</summary><div class=\"wide\" tabindex=\"0\" role=\"region\" "
         "aria-label=\"free extents\">\n" +
         html_histogram(report) +
         "</div></details>\n<figure><figcaption><b>Groups.</b> Each cell is a group, the first at "
         "the top left; point at one, or move with the arrow keys.</figcaption>\n<div "
         "class=\"controls\"><label>Colour: <select id=\"measure\"><option value=\"share\">free "
         "share</option><option value=\"average\">average free extent</option></select></label>"
         "<label>After: <input type=\"range\" id=\"time\" min=\"0\"> <output id=\"when\" "
         "for=\"time\"></output></label></div>\n<div class=\"maps\" id=\"maps\"></div><p "
         "class=\"readout\" id=\"cell\" aria-live=\"polite\">No group is chosen.</p></figure>\n";
}

}  // namespace

std::string replay_html(const ReplayReport& report) {
  std::string script(kReplayJs);
  if (has_writers(report)) script += kWritersJs;
  return html_page(
      {.title = "e4replay: " + report.trace_path,
       .heading = "Allocator replay",
       .headline = headline(report),
       .summary = summary(report),
       .body = searches(report) + many_writers(report) + free_space(report) + "<h2>Files</h2>\n" +
               html_figure("files", "Files by extents.", "How many files lie in how many pieces.") +
               fragmented_html(report) +
               "<h2>All figures</h2>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" "
               "aria-label=\"all figures\">\n" +
               html_rows(report) + "</div>\n",
       .data = html_data(report),
       .script = script});
}

}  // namespace e4r::report
