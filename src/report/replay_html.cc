// SPDX-License-Identifier: GPL-2.0-or-later
// The comparison as one self-contained page. Headline, facts and tables are there without a script;
// plots are drawn by html/page.js from html_data().
#include "report/headline.h"
#include "report/html_data.h"
#include "report/html_text.h"
#include "report/page_assets.h"
#include "report/replay_report.h"
#include "report/rows.h"

namespace e4r::report {
namespace {

std::string card(const ReplayReport& report, const Figure& figure) {
  std::string out = fmt::format("<div class=\"card\"><h3>{}</h3><dl>\n", html_escape(figure.label));
  for (std::size_t i = 0; i < report.runs.size(); ++i)
    out += fmt::format(
        "<dt style=\"--colour:var(--s{})\">{}</dt><dd class=\"value\">{}</dd><dd "
        "class=\"change\">{}</dd>\n",
        1 + i % 7, html_escape(report.runs[i].policy->name), text_of(figure.values[i]),
        i == 0 ? "" : change_text(figure.values.front(), figure.values[i]));
  return out + "</dl></div>\n";
}

std::string summary(const ReplayReport& report) {
  std::string out = fmt::format("<header><h1>Allocator replay</h1>\n<p class=\"headline\">{}</p>\n",
                                html_escape(headline(report)));
  out += "<div class=\"cards\">\n";
  for (const Figure& figure : key_figures(report)) out += card(report, figure);
  return out +
         "</div>\n<p class=\"note\">A step is a group considered or an extent examined. Files are "
         "those that the trace wrote.</p>\n" +
         html_facts(report) + "</header>\n";
}

std::string figure(const char* id, const char* title, const char* text) {
  return fmt::format(
      "<figure><figcaption><b>{}</b> {}</figcaption><div class=\"plot\" "
      "id=\"{}\"></div></figure>\n",
      title, text, id);
}

std::string searches(const ReplayReport& report) {
  std::string out = "<h2>Searches</h2>\n<div class=\"pair\">\n" +
                    figure("criteria", "Criteria.", "Which ended searches, and what each took.") +
                    figure("cost", "Cost over the trace.",
                           "Steps per request: the mean as a line, the dearest request as dots.") +
                    "</div>\n";
  const std::string slowest = html_slowest(report);
  if (slowest.empty()) return out;
  return out + (report.runs.size() > 2 ? "<details>" : "<details open>") +
         "<summary>The decisions that took most steps</summary>\n<p class=\"note\">"
         "<code>--explain N</code> writes down decision N under each policy.</p>\n<div "
         "class=\"pair wide\">\n" +
         slowest + "</div></details>\n";
}

std::string free_space(const ReplayReport& report) {
  return "<h2>Free space</h2>\n" +
         figure("histogram", "Free extents by size.",
                "Each bar: extents from this size to twice it.") +
         "<details><summary>As a table</summary><div class=\"wide\" tabindex=\"0\" role=\"region\" "
         "aria-label=\"free extents\">\n" +
         html_histogram(report) +
         "</div></details>\n<figure><figcaption><b>Groups.</b> Each cell is a group, the first at "
         "the top left, at the start and at the end; point at one, or move with the arrow keys. "
         "<label>Colour: <select id=\"measure\"><option value=\"share\">free share</option>"
         "<option value=\"average\">average free extent</option></select></label></figcaption>\n"
         "<div class=\"maps\" id=\"maps\"></div><p class=\"readout\" id=\"cell\" "
         "aria-live=\"polite\">No group is chosen.</p></figure>\n";
}

}  // namespace

std::string replay_html(const ReplayReport& report) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>e4replay: {}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>{}</style></head>\n"
      "<body>\n{}<noscript><p class=\"note\">The plots need JavaScript; the tables do not.</p>"
      "</noscript>\n<main>\n{}{}<h2>Files</h2>\n{}<h2>All figures</h2>\n"
      "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"all "
      "figures\">\n{}</div>\n</main>\n"
      "<script type=\"application/json\" id=\"data\">{}</script>\n<script>{}</script>\n"
      "</body></html>\n",
      html_escape(report.trace_path), kPageCSS, summary(report), searches(report),
      free_space(report),
      figure("files", "Files by extents.", "How many files lie in how many pieces."),
      html_rows(report), html_data(report), kPageJS);
}

}  // namespace e4r::report
