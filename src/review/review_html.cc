// SPDX-License-Identifier: GPL-2.0-or-later
// The page of a review: all of it is text, tables and bars, so it has no script.
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

std::string table(std::string_view label, std::string_view head, const std::string& rows) {
  return fmt::format(
      "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>\n<thead><tr>{}"
      "</tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
      label, head, rows);
}

std::string figure_cells(const Figure& figure) {
  return fmt::format("<td>{}</td><td>{}</td><td>{}</td>", report::text_of(figure.base),
                     report::text_of(figure.with), report::change_text(figure.base, figure.with));
}

// A link to the case below.
std::string link(const Review& review, std::size_t of) {
  return fmt::format("<a href=\"#case-{}\">{}</a>", of, html_escape(review.cases[of].name));
}

std::string changes(const Review& review, Change change, std::string_view title) {
  std::string rows;
  for (const Told& one : told(review, change)) {
    const Figure& figure = review.cases[one.of].figures[one.figure];
    rows += fmt::format("<tr class=\"row\"><td>{}</td><td class=\"name\">{}</td>{}</tr>\n",
                        link(review, one.of), html_escape(figure.label), figure_cells(figure));
  }
  const std::string out = fmt::format("<h2>{}</h2>\n", title);
  if (rows.empty()) return out + "<p>Nothing by 1 % or more.</p>\n";
  return out + table(title,
                     "<th>where</th><th "
                     "class=\"name\">figure</th><th>base</th><th>with</th><th>change</th>",
                     rows);
}

std::string inputs(const Review& review) {
  std::string rows, refusals;
  for (std::size_t i = 0; i < review.cases.size(); ++i) {
    const Case& one = review.cases[i];
    rows += fmt::format(
        "<tr class=\"row\"><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        one.refused.empty() ? link(review, i) : html_escape(one.name), shape_text(one),
        one.aged ? "–" : html_escape(one.kernel), one.aged ? "–" : format_count(one.decisions),
        one.aged ? "–" : followed_text(one));
    if (!one.refused.empty())
      refusals += fmt::format("<p class=\"note\"><b>{}</b> is not compared: {}</p>\n",
                              html_escape(one.name), html_escape(one.refused));
  }
  return "<h2>What was replayed</h2>\n" + refusals +
         table("what was replayed",
               "<th>where</th><th>file system</th><th>recorded on</th><th>decisions</th>"
               "<th>followed</th>",
               rows) +
         fmt::format("<p class=\"note\">{}</p>\n", html_escape(inputs_note(review)));
}

// How much of the free space is in extents of a bucket, as a bar.
std::string bar(std::uint64_t blocks, std::uint64_t all, int series) {
  return fmt::format(
      "<td><svg width=\"100\" height=\"10\" role=\"img\" aria-label=\"{0:.1f} %\"><rect "
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
               "<th>free extents of</th><th>base</th><th></th><th>% of free</th><th>with</th>"
               "<th></th><th>% of free</th>",
               rows);
}

std::string cases(const Review& review) {
  std::string out = "<h2>Case by case</h2>\n";
  for (std::size_t i = 0; i < review.cases.size(); ++i) {
    const Case& one = review.cases[i];
    if (!one.refused.empty()) continue;
    std::string rows;
    for (const Figure& figure : one.figures)
      rows += fmt::format("<tr class=\"row\"><td>{}</td>{}</tr>\n", html_escape(figure.label),
                          figure_cells(figure));
    out += fmt::format("<h3 id=\"case-{}\">{}</h3>\n", i, html_escape(one.name));
    if (one.alike) out += "<p class=\"note\">Every request was decided alike.</p>\n";
    out += "<div class=\"pair\"><div>" +
           table("figures", "<th>figure</th><th>base</th><th>with</th><th>change</th>", rows) +
           "</div><div>" + histogram(one) + "</div></div>\n";
  }
  return out;
}

std::string headline(const Review& review) {
  return fmt::format("{} against {}: {} figures got worse by 1 % or more, {} got better",
                     side_text(review.with), side_text(review.base),
                     format_count(told(review, Change::worse).size()),
                     format_count(told(review, Change::better).size()));
}

}  // namespace

std::string review_html(const Review& review, const Made& made) {
  report::Page page;
  page.title = "Allocator review";
  page.heading = "Allocator review";
  page.headline = headline(review);
  page.summary = fmt::format(
      "<p>base: {}<br>with: {}</p>\n<p>{}</p>\n<p class=\"note\">{}: <code>{}</code></p>\n",
      html_escape(side_text(review.base)), html_escape(side_text(review.with)),
      html_escape(summary_text(review)), html_escape(made.program),
      html_escape(fmt::format("{}", fmt::join(made.command, " "))));
  page.body = changes(review, Change::worse, "What got worse") +
              changes(review, Change::better, "What got better") + inputs(review) + cases(review);
  return html_page(page);
}

}  // namespace e4r::review
