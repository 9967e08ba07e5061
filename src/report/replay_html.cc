// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "report/headline.h"
#include "report/page.h"
#include "report/replay_report.h"
#include "util/units.h"

// The comparison as one self-contained page. Headline, facts and tables need no script;
// html/replay.js draws the plots from html_data().
namespace e4r::report {
namespace {

std::string card(const ReplayReport& report, const HeadlineFigure& figure) {
  std::vector<CardLine> lines;
  const std::size_t first = first_policy(report);
  const std::vector<Column> all = columns(report);
  for (std::size_t i = 0; i < all.size(); ++i)
    lines.push_back(
        {all[i].recorded ? kRecordedSeries : i - first + 1, all[i].name,
         results::text_of(figure.values[i]),
         i <= first ? ""
                    : results::change_text(figure.values[first], figure.values[i], figure.luck)});
  return html_card(figure.label, lines);
}

std::string html_why(const ReplayReport& report) {
  std::string out;
  for (const WhyText& one : why_texts(report))
    out +=
        fmt::format("<dt>{}</dt><dd>{}</dd>\n", html_escape(one.policies), html_escape(one.text));
  return out.empty() ? out : fmt::format("<h2>Why</h2>\n<dl class=\"causes\">\n{}</dl>\n", out);
}

std::string summary(const ReplayReport& report) {
  std::string out = "<div class=\"cards\">\n";
  for (const HeadlineFigure& figure : key_figures(report)) out += card(report, figure);
  out +=
      "</div>\n<p class=\"note\">A step is a group considered or an extent examined. The figures "
      "of files count the files that the trace wrote.";
  if (report.runs.size() > 1)
    out += fmt::format(" Changes are against {}, the first policy.",
                       html_escape(report.runs.front().policy->name));
  return out + "</p>\n" + html_why(report) + html_facts(report);
}

std::string searches(const ReplayReport& report) {
  std::string out =
      "<h2>Searches</h2>\n<div class=\"pair\">\n" +
      html_figure(
          "criteria", "Criteria.",
          "Which criteria ended searches, and what each took. A bar is as long as its total is "
          "large; groups and extents have one scale.") +
      html_figure(
          "cost", "Cost over the trace.",
          "Lines: the mean of each part of the trace. Hollow marks: its costliest request.") +
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

// The section about many writers, which includes the table that the terminal shows.
std::string many_writers(const ReplayReport& report) {
  if (!has_writers(report)) return {};
  return "<h2>Many writers</h2>\n<div class=\"pair\">\n" +
         html_figure("rates", "Requests per second.",
                     "A simulation: each writer thinks " + pace_text(report.pace) +
                         ", then computes and takes locks as the code does.") +
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

// The result of verify for one run, as a page. html/verify.js draws the plot.

namespace {

namespace json = boost::json;
using replay::Agreement;

constexpr std::size_t kMostDivergences = 20;

// A way in which the decisions were compared: following the recorded kernel, or free-running.
struct Way {
  const char* name;
  const Agreement* agreement;
};

std::vector<Way> ways_of(const results::Outcome& run) {
  std::vector<Way> out;
  if (run.agreement) out.push_back({"following the kernel", &*run.agreement});
  if (run.free_run) out.push_back({"free-running", &*run.free_run});
  return out;
}

std::string describe_agreement(const results::Outcome& run) {
  const std::vector<Way> ways = ways_of(run);
  if (ways.empty()) return "Nothing was compared.";
  const Agreement& first = *ways.front().agreement;
  std::string out;
  if (run.agrees())
    out = fmt::format("Under {}, all {} decisions are the recorded kernel's", run.policy->name,
                      format_count(first.requests));
  else
    out = fmt::format("Under {}, {} of {} decisions ({}) are the recorded kernel's",
                      run.policy->name, format_count(first.identical), format_count(first.requests),
                      share_text(first, first.identical));
  if (const replay::Divergence* parted = first.first_divergence())
    return out + fmt::format("; they diverge at decision {}, in {}.",
                             format_count(parted->decision), parted->fields);
  for (const Way& way : ways)
    if (const replay::Divergence* parted = way.agreement->first_divergence())
      return out + fmt::format("; free-running, the model diverges from it at decision {}, in {}.",
                               format_count(parted->decision), parted->fields);
  if ((run.groups && !run.groups->equal()) || (run.kernel_stats && !run.kernel_stats->equal()))
    return out + ", but its counters at the end are not.";
  return out + (ways.size() == 1 ? ", free-running from start to end."
                                 : ", following it and free-running from start to end.");
}

std::string headline(const ReplayReport& report, const results::Outcome& run) {
  std::string doubt = doubt_text(report);
  return describe_agreement(run) + (doubt.empty() ? doubt : fmt::format(" But {}.", doubt));
}

std::string summary(const ReplayReport& report, const results::Outcome& run) {
  std::string out = "<div class=\"cards\">\n";
  std::vector<CardLine> lines;
  std::size_t series = 0;
  for (const Way& way : ways_of(run))
    lines.push_back({++series, way.name, format_count(way.agreement->identical),
                     share_text(*way.agreement, way.agreement->identical)});
  out += html_card("Identical decisions", lines);
  lines.clear();
  if (run.groups)
    lines.push_back({0, "groups of mb_groups",
                     format_count(run.groups->compared - run.groups->differing),
                     "of " + format_count(run.groups->compared)});
  if (run.kernel_stats)
    lines.push_back({0, "counters of mb_stats", format_count(run.kernel_stats->equal_ones()),
                     "of " + format_count(run.kernel_stats->compared)});
  if (!lines.empty()) out += html_card("Equal in the kernel's own account", lines);
  return out + "</div>\n" + html_facts(report);
}

std::string table(const results::Outcome& run) {
  std::string out = "<div class=\"wide\"><table>\n<thead><tr><th></th>";
  std::vector<std::vector<AgreementRow>> columns;
  for (const Way& way : ways_of(run)) {
    out += fmt::format("<th>{}</th><th></th>", way.name);
    columns.push_back(agreement_rows(*way.agreement));
  }
  out += "</tr></thead>\n<tbody>\n";
  // Rows that show a share appear in all columns, in the same order. The other rows appear only if
  // their count is not zero.
  const auto cells = [&](const std::string& label) {
    std::string row;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto found =
          std::ranges::find(columns[i], label, [](const AgreementRow& r) { return r.label; });
      row += found == columns[i].end()
                 ? "<td></td><td></td>"
                 : fmt::format(
                       "<td>{}</td><td>{}</td>", format_count(found->count),
                       found->share ? share_text(*ways_of(run)[i].agreement, found->count) : "");
    }
    return fmt::format("<tr class=\"row\"><td>{}</td>{}</tr>\n", html_escape(label), row);
  };
  std::vector<std::string> labels;
  for (const auto& column : columns)
    for (const AgreementRow& row : column)
      if (std::ranges::find(labels, row.label) == labels.end()) labels.push_back(row.label);
  for (const std::string& label : labels) out += cells(label);
  return out + "</tbody></table></div>\n";
}

std::string kernel_account(const results::Outcome& run) {
  std::string out;
  for (const std::string& line : {groups_text(run), stats_text(run)})
    if (!line.empty()) out += fmt::format("<p>{}</p>\n", html_escape(line));
  std::string items;
  if (run.kernel_stats)
    for (const auto* lines : {&run.kernel_stats->differing, &run.kernel_stats->open})
      for (const std::string& line : *lines)
        items += fmt::format("<li>{}</li>\n", html_escape(line));
  if (!items.empty()) out += "<ul>\n" + items + "</ul>\n";
  return out.empty() ? out : "<h2>The kernel's own account</h2>\n" + out;
}

// Explains the fields of replay::describe()'s lines.
std::string key_of_decisions() {
  constexpr std::pair<const char*, const char*> kFields[] = {
      {"alloc, prealloc", "blocks searched for, or taken from what was preallocated"},
      {"G/S/L@F",
       "an extent: group, first cluster in the group, length in clusters, and the place in "
       "the file that it is for; -1: no place"},
      {"orig", "what was requested"},
      {"goal", "what was searched for instead; \u201cof N\u201d: a criterion shortened it from N"},
      {"result", "what it got"},
      {"blks", "free extents examined"},
      {"grps", "groups scanned"},
      {"CR0, CR1, ...", "the criterion that ended the search"},
      {"flags",
       "the hints of the request, as the kernel's EXT4_MB_HINT_* and others, in hexadecimal"},
      {"broken", "size in clusters of the last buddy that was split for it; 0: none"},
      {"tail", "clusters that were still to be taken when that buddy was split"},
  };
  std::string out =
      "<details open><summary>How to read a decision</summary>\n<dl class=\"fields\">\n";
  for (const auto& [field, meaning] : kFields)
    out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", html_escape(field), html_escape(meaning));
  return out + "</dl></details>\n";
}

std::string divergences(const Way& way) {
  const auto& all = way.agreement->divergences;
  if (all.empty()) return {};
  std::string out = fmt::format("<h2>Where they diverge, {}</h2>\n", way.name);
  out += key_of_decisions() +
         "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"decisions that differ\">"
         "<table class=\"parted\">\n<thead><tr><th>decision</th><th>event</th><th>inode</th>"
         "<th>what differs, the kernel's decision, the model's</th></tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < std::min(all.size(), kMostDivergences); ++i) {
    const replay::Divergence& d = all[i];
    const std::string_view race = replay::race_text(d.race);
    out += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}{}<br><code>{}</code><br><code>{}</code></td>"
        "</tr>\n",
        format_count(d.decision), format_count(d.event), d.ino, html_escape(d.fields),
        race.empty() ? "" : fmt::format(" ({})", race), html_escape(d.recorded),
        html_escape(d.modelled));
  }
  out += "</tbody></table></div>\n";
  const std::uint64_t differ = way.agreement->requests - way.agreement->identical;
  if (differ > kMostDivergences)
    out += fmt::format("<p class=\"note\">The first {} of {}; --json lists up to {}.</p>\n",
                       kMostDivergences, format_count(differ), format_count(Agreement::kListed));
  return out;
}

std::string body(const results::Outcome& run) {
  const std::vector<Way> ways = ways_of(run);
  std::string out = "<h2>Decisions</h2>\n" +
                    html_figure("course", "Over the trace.", "The share of identical decisions.") +
                    table(run) + kernel_account(run);
  if (!run.explanation.empty())
    out +=
        "<h2>One decision</h2>\n<pre class=\"wide\">" + html_escape(run.explanation) + "</pre>\n";
  for (const Way& way : ways) {
    const std::string parted = divergences(way);
    out += parted;
    if (!parted.empty()) break;
  }
  return out;
}

std::string data(const results::Outcome& run) {
  json::array ways;
  for (const Way& way : ways_of(run)) {
    json::array requests, identical;
    for (const Agreement::Share& bucket : way.agreement->course.buckets()) {
      requests.emplace_back(bucket.requests);
      identical.emplace_back(bucket.identical);
    }
    ways.push_back({{"name", way.name},
                    {"width", way.agreement->course.width()},
                    {"decisions", way.agreement->requests},
                    {"requests", std::move(requests)},
                    {"identical", std::move(identical)}});
  }
  return script_json(json::object{{"ways", std::move(ways)}});
}

}  // namespace

std::string verify_html(const ReplayReport& report) {
  const results::Outcome& run = report.runs.front();
  return html_page({.title = "e4replay verify: " + report.trace_path,
                    .heading = "Model against kernel",
                    .headline = headline(report, run),
                    .summary = summary(report, run),
                    .body = body(run),
                    .data = data(run),
                    .script = kVerifyJs});
}

}  // namespace e4r::report
