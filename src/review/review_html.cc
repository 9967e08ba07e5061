// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "report/page.h"
#include "review/review.h"
#include "review/words.h"
#include "util/units.h"

// The page of a review. It has only text, tables, bars and dots, so it needs no script.
namespace e4r::review {
namespace {

using report::html_escape;

// The table fits on a phone: the first column wraps, and narrow screens hide cells of the class
// "more".
std::string table(std::string_view label, std::string_view head, const std::string& rows) {
  return fmt::format(
      "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table "
      "class=\"narrow\">\n<thead><tr>{}"
      "</tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
      label, head, rows);
}

std::string figure_cells(const Figure& figure) {
  return fmt::format("<td>{}</td><td>{}</td><td>{}</td>", results::text_of(figure.base),
                     results::text_of(figure.with), change_text(figure) + luck_text(figure));
}

// A link to the section of a case.
std::string link(const Review& review, std::size_t of) {
  return fmt::format("<a href=\"#case-{}\">{}</a>", of, html_escape(review.cases[of].name));
}

// Describes the failures, which come first because they are worse than any change.
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

// One line for each figure, and below it the cases in which it changed most.
std::string changes(const Review& review, Change change, std::string_view title) {
  const std::string out = fmt::format("<h2>{}</h2>\n", title) + failures_html(review, change);
  const std::vector<CaseFigure> some = list_largest(review, change);
  if (some.empty()) return out + fmt::format("<p>{}</p>\n", nothing_changed(review, change));
  std::string lines, rows;
  for (const Summary& summary : summaries_of(review, change))
    lines += fmt::format("<li><b>{}</b>: {}</li>\n", html_escape(summary.row->label),
                         html_escape(way_text(review, summary, change)));
  for (const CaseFigure& one : some) {
    const Figure& figure = review.cases[one.of].figures[one.figure];
    rows += fmt::format("<tr class=\"row\"><td>{} <span class=\"of\">{}</span></td>{}</tr>\n",
                        html_escape(figure.row->label), link(review, one.of), figure_cells(figure));
  }
  const std::size_t all = list_changed(review, change).size();
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

// Names the cases with equal decisions. Keeps their anchors, because other parts link to them.
std::string alike_names(const Review& review) {
  std::string names;
  for (const std::size_t i : alike_cases(review))
    names += fmt::format("{}<span id=\"case-{}\">{}</span>", names.empty() ? "" : ", ", i,
                         html_escape(review.cases[i].name));
  if (names.empty()) return {};
  return fmt::format(
      "<p class=\"note\">Both made the same decision for every request in {}: {}.</p>\n",
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
      "{}{} against {}: {} cases, {} with the same decisions; {} figures got worse by 1 % or more "
      "in some case, {} got better",
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

std::string review_html(const Review& review, const ReviewOrigin& origin) {
  report::Page page;
  page.title = "Allocator review";
  page.heading = "Allocator review";
  page.headline = headline(review);
  page.summary = fmt::format(
      "<p>base: {}<br>with: {}</p>\n<p>{}</p>\n<p class=\"note\">{}: <code>{}</code></p>\n",
      side_html(review.base), side_html(review.with),
      html_escape(summary_text(review) + " " + times_note(review)), html_escape(origin.program),
      html_escape(fmt::format("{}", fmt::join(origin.command, " "))));
  page.body = changes(review, Change::worse, "What got worse") +
              changes(review, Change::better, "What got better") + plot_html(review) +
              inputs(review) + cases(review);
  return html_page(page);
}

// The plot of a review: a row per figure, a dot per case. Positions are in percent, so it fits any
// window width and needs no script.

namespace {

// Returns by how much a figure is worse: 0.5 if it is worse by half, negative if it is better,
// infinite if one value is zero.
double worse_by(const Figure& figure) {
  const double base = results::number_of(figure.base).value_or(0);
  const double with = results::number_of(figure.with).value_or(0);
  if (base == with) return 0;
  const double by = std::max(base, with) / std::min(base, with) - 1;
  return (with > base) == (figure.row->better == results::Better::lower) ? by : -by;
}

// Maps a change to a scale that is linear near 0 and logarithmic far from it.
double bend(double by) {
  constexpr double kLine = 0.01;
  return std::copysign(std::log10(1 + std::abs(by) / kLine), by);
}

struct Mark {
  double by;
  std::string_view text;
};
constexpr Mark kMarks[] = {{0.01, "1 %"}, {0.1, "10 %"},  {1, "x2"},      {9, "x10"},
                           {99, "x100"},  {999, "x1000"}, {99999, "x1e5"}};

// A scale in percent of the width. The outermost tenths show changes from or to zero.
class Scale {
 public:
  explicit Scale(double most) : most_(bend(std::max(most, 0.1))) {}
  [[nodiscard]] double at(double by) const {
    constexpr double kHalf = 44;
    if (std::isinf(by)) return by > 0 ? 98 : 2;
    return 50 + kHalf * bend(by) / most_;
  }
  [[nodiscard]] bool holds(double by) const { return bend(by) <= most_ * 1.001; }

 private:
  double most_;
};

struct Dot {
  double at;
  std::size_t of;
  std::string title;
  Change change;
};

std::vector<Dot> dots_of(const Review& review, const std::string& key, const Scale& scale) {
  std::vector<Dot> out;
  for (std::size_t of = 0; of < review.cases.size(); ++of)
    for (const Figure& figure : review.cases[of].figures) {
      if (figure.row->key != key || !results::number_of(figure.base) ||
          !results::number_of(figure.with))
        continue;
      out.push_back(
          {scale.at(worse_by(figure)), of,
           fmt::format("{}: {} to {}, {}", review.cases[of].name, results::text_of(figure.base),
                       results::text_of(figure.with), change_text(figure) + luck_text(figure)),
           change_of(figure)});
    }
  std::ranges::stable_sort(out, {}, &Dot::at);
  return out;
}

constexpr std::size_t kLanes = 6;

// Dots that would overlap go to separate lanes; dots in the last lane may overlap.
std::string dots_html(const std::vector<Dot>& dots, std::size_t& lanes) {
  constexpr double kApart = 1.3;
  std::vector<double> last(kLanes, -100);
  std::string out;
  lanes = 1;
  for (const Dot& dot : dots) {
    std::size_t lane = 0;
    while (lane + 1 < kLanes && dot.at - last[lane] < kApart) ++lane;
    last[lane] = dot.at;
    lanes = std::max(lanes, lane + 1);
    const char* kind = dot.change == Change::worse    ? "worse"
                       : dot.change == Change::better ? "better"
                                                      : "same";
    const std::string title = report::html_escape(dot.title);
    out += fmt::format(
        "<a class=\"{}\" href=\"#case-{}\" style=\"left:{:.2f}%;--lane:{}\" title=\"{}\" "
        "aria-label=\"{}\"></a>",
        kind, dot.of, dot.at, lane, title, title);
  }
  return out;
}

std::string marks_html(const Scale& scale) {
  std::string out = "<i style=\"left:50%\"><span>=</span></i>";
  for (const Mark& mark : kMarks) {
    if (!scale.holds(mark.by)) continue;
    for (const double by : {-mark.by, mark.by})
      out += fmt::format("<i style=\"left:{:.2f}%\"><span>{}</span></i>", scale.at(by), mark.text);
  }
  return out;
}

double most_of(const Review& review) {
  double out = 0;
  for (const Case& one : review.cases)
    for (const Figure& figure : one.figures) {
      const double by = std::abs(worse_by(figure));
      if (figure.row->place == results::Place::lists &&
          figure.row->better != results::Better::none && std::isfinite(by))
        out = std::max(out, by);
    }
  return out;
}

}  // namespace

std::string plot_html(const Review& review) {
  const Scale scale(most_of(review));
  const std::string marks = marks_html(scale);
  std::string rows;
  for (const Summary& summary : summaries(review)) {
    std::size_t lanes = 1;
    const std::string dots = dots_html(dots_of(review, summary.row->key, scale), lanes);
    rows += fmt::format(
        "<div class=\"dots-name\">{} <span class=\"small\">{} worse, {} better of {}</span></div>"
        "<div class=\"dots\" style=\"--lanes:{}\">{}{}</div>\n",
        report::html_escape(summary.row->label), summary.worse.count, summary.better.count,
        summary.cases, lanes, marks, dots);
  }
  if (rows.empty()) return {};
  return "<h2>Every figure of every case</h2>\n"
         "<p class=\"note\">A dot is a case. How many times as bad it is stands to the right of "
         "the "
         "middle, how many times as good to the left, both on a scale that grows by powers of ten. "
         "Dots at the edges were nothing before, or are nothing now. Hollow ones are the same, or "
         "figures that differ by noise or luck.</p>\n"
         "<div class=\"dots-axis small\"><span>better</span><span>worse</span></div>\n"
         "<div class=\"dot-plot\">\n" +
         rows + "</div>\n";
}

}  // namespace e4r::review
