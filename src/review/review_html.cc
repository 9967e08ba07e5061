// SPDX-License-Identifier: GPL-2.0-or-later
// The page of a review. It has only text, tables, bars and dots, so it needs no script.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/page.h"
#include "review/review.h"
#include "review/words.h"
#include "util/units.h"

namespace e4r::review {
namespace {

using report::html_escape;

// Fits on a phone: the first column wraps, and narrow screens hide cells of the class "more".
std::string table(std::string_view label, std::string_view head, const std::string& rows) {
  return fmt::format(
      "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table "
      "class=\"narrow\">\n<thead><tr>{}"
      "</tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
      label, head, rows);
}

std::string figure_cells(const Figure& figure) {
  return fmt::format("<td>{}</td><td>{}</td><td>{}</td>", results::text_of(figure.base),
                     results::text_of(figure.with), noise_text(figure));
}

// A link to the section of the case.
std::string link(const Review& review, std::size_t of) {
  return fmt::format("<a href=\"#case-{}\">{}</a>", of, html_escape(review.cases[of].name));
}

// Nothing is worse than a policy that fails.
std::string failures_html(const Review& review, Change change) {
  const std::string head = failures_text(review, change);
  if (head.empty()) return {};
  std::string out = fmt::format("<p><b>{}:</b></p>\n<ul>\n", html_escape(head));
  const Failures failures = failures_of(review);
  for (const std::size_t i : failures.of(change)) {
    const Case& one = review.cases[i];
    out += fmt::format("<li>{}: {}</li>\n", html_escape(one.name),
                       html_escape(one.failed[change == Change::worse ? 1 : 0]));
  }
  return out + "</ul>\n";
}

// A line a figure, and then the cases in which it changed most.
std::string changes(const Review& review, Change change, std::string_view title) {
  const std::string out = fmt::format("<h2>{}</h2>\n", title) + failures_html(review, change);
  const std::vector<Told> some = largest(review, change);
  if (some.empty()) return out + fmt::format("<p>{}</p>\n", nothing_changed(review, change));
  std::string lines, rows;
  for (const Summary& summary : summaries_of(review, change))
    lines += fmt::format("<li><b>{}</b>: {}</li>\n", html_escape(summary.row->label),
                         html_escape(way_text(review, summary, change)));
  for (const Told& one : some) {
    const Figure& figure = review.cases[one.of].figures[one.figure];
    rows += fmt::format("<tr class=\"row\"><td>{} <span class=\"of\">{}</span></td>{}</tr>\n",
                        html_escape(figure.row->label), link(review, one.of), figure_cells(figure));
  }
  const std::size_t all = told(review, change).size();
  return out + "<ul>\n" + lines + "</ul>\n" +
         table(title, "<th>figure, case</th><th>base</th><th>with</th><th>change</th>", rows) +
         (all > some.size()
              ? fmt::format("<p class=\"note\">and {} more of these figures, below</p>\n",
                            all - some.size())
              : std::string());
}

std::string inputs(const Review& review) {
  std::string rows, refusals;
  for (std::size_t i = 0; i < review.cases.size(); ++i) {
    const Case& one = review.cases[i];
    rows += fmt::format(
        "<tr class=\"row\"><td>{}</td><td class=\"more\">{}</td><td>{}</td><td>{}</td>"
        "<td>{}</td></tr>\n",
        one.refused.empty() ? link(review, i) : html_escape(one.name), shape_text(one),
        one.aged ? "–" : html_escape(one.kernel), one.aged ? "–" : format_count(one.decisions),
        one.aged ? "–" : followed_text(one));
    if (!one.refused.empty())
      refusals += fmt::format("<p class=\"note\"><b>{}</b> is not compared: {}</p>\n",
                              html_escape(one.name), html_escape(one.refused));
  }
  for (const Caveat& caveat : review.caveats)
    refusals += fmt::format("<p class=\"note\">{} (in {}: {})</p>\n", html_escape(caveat.text),
                            caveat.of.size(), html_escape(names_text(review, caveat.of)));
  return "<h2>What was replayed</h2>\n" + refusals +
         table("what was replayed",
               "<th>where</th><th class=\"more\">file system</th><th>recorded "
               "on</th><th>decisions</th>"
               "<th>followed</th>",
               rows) +
         fmt::format("<p class=\"note\">{}</p>\n", html_escape(inputs_note(review)));
}

// A bar for the share of free space in the extents of a bucket.
std::string bar(std::uint64_t blocks, std::uint64_t all, int series) {
  return fmt::format(
      "<td class=\"more\"><svg width=\"100\" height=\"10\" role=\"img\" aria-label=\"{0:.1f} "
      "%\"><rect "
      "width=\"{0:.1f}\" height=\"10\" fill=\"var(--s{1})\"/></svg></td><td>{0:.2f}</td>",
      percent_of(blocks, all), series);
}

std::string histogram(const Case& one) {
  std::string rows;
  for (std::size_t i = 0; i < stats::FreeExtents::kBuckets; ++i) {
    const auto &base = one.free_base.buckets[i], &with = one.free_with.buckets[i];
    if (base.extents == 0 && with.extents == 0) continue;
    rows += fmt::format("<tr class=\"row\"><td>{}</td><td>{}</td>{}<td>{}</td>{}</tr>\n",
                        range_text(i, one.block_size), format_count(base.extents),
                        bar(base.blocks, one.free_base.blocks, 1), format_count(with.extents),
                        bar(with.blocks, one.free_with.blocks, 2));
  }
  return table("free extents",
               "<th>free extents of</th><th>base</th><th class=\"more\"></th><th>% of free</th>"
               "<th>with</th><th class=\"more\"></th><th>% of free</th>",
               rows);
}

// Keeps the anchors of cases that were decided alike, because other parts link to them.
std::string alike_names(const Review& review) {
  std::string names;
  for (const std::size_t i : alike_cases(review))
    names += fmt::format("{}<span id=\"case-{}\">{}</span>", names.empty() ? "" : ", ", i,
                         html_escape(review.cases[i].name));
  if (names.empty()) return {};
  return fmt::format("<p class=\"note\">Every request was decided alike in {}: {}.</p>\n",
                     alike_cases(review).size(), names);
}

std::string cases(const Review& review) {
  std::string out = "<h2>Case by case</h2>\n" + alike_names(review);
  for (std::size_t i = 0; i < review.cases.size(); ++i) {
    const Case& one = review.cases[i];
    if (!one.refused.empty() || one.alike) continue;
    std::string rows;
    for (const Figure& figure : one.figures)
      if (figure.row->place != results::Place::document)
        rows += fmt::format("<tr class=\"row\"><td>{}</td>{}</tr>\n",
                            html_escape(figure.row->label), figure_cells(figure));
    out += fmt::format("<h3 id=\"case-{}\">{}</h3>\n", i, html_escape(one.name));
    out += "<div class=\"pair\"><div>" +
           table("figures", "<th>figure</th><th>base</th><th>with</th><th>change</th>", rows) +
           "</div><div>" + histogram(one) + "</div></div>\n";
  }
  return out;
}

std::string headline(const Review& review) {
  std::size_t answered = 0;
  for (const Case& one : review.cases) answered += one.refused.empty() ? 1 : 0;
  const std::string failed = failures_text(review, Change::worse);
  return fmt::format(
      "{}{} against {}: of {} cases, {} are decided alike; {} figures got worse by 1 % or more in "
      "some case, {} got better",
      failed.empty() ? failed : failed + "; ", side_text(review.with), side_text(review.base),
      format_count(answered), format_count(alike_cases(review).size()),
      format_count(summaries_of(review, Change::worse).size()),
      format_count(summaries_of(review, Change::better).size()));
}

// A policy, and the identity of its code.
std::string side_html(const Side& side) {
  const std::string code = code_text(side);
  return html_escape(side_text(side) + (code.empty() ? "" : ": " + code));
}

}  // namespace

std::string review_html(const Review& review, const Made& made) {
  report::Page page;
  page.title = "Allocator review";
  page.heading = "Allocator review";
  page.headline = headline(review);
  page.summary = fmt::format(
      "<p>base: {}<br>with: {}</p>\n<p>{}</p>\n<p class=\"note\">{}: <code>{}</code></p>\n",
      side_html(review.base), side_html(review.with),
      html_escape(summary_text(review) + " " + times_note(review)), html_escape(made.program),
      html_escape(fmt::format("{}", fmt::join(made.command, " "))));
  page.body = changes(review, Change::worse, "What got worse") +
              changes(review, Change::better, "What got better") + plot_html(review) +
              inputs(review) + cases(review);
  return html_page(page);
}

}  // namespace e4r::review
