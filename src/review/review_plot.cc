// SPDX-License-Identifier: GPL-2.0-or-later
// The plot of a review: a row per figure, a dot per case. Positions are in percent, so it fits any
// window width and needs no script.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "report/page.h"
#include "review/review.h"
#include "review/words.h"

namespace e4r::review {
namespace {

// How much worse a figure is: 0.5 if it is worse by half, negative if it is better, infinite if one
// value is zero.
double worse_by(const Figure& figure) {
  const double base = results::number_of(figure.base).value_or(0);
  const double with = results::number_of(figure.with).value_or(0);
  if (base == with) return 0;
  const double by = std::max(base, with) / std::min(base, with) - 1;
  return (with > base) == (figure.row->better == results::Better::lower) ? by : -by;
}

// Maps to a scale that is linear near 0 and logarithmic far from it.
double bent(double by) {
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
  explicit Scale(double most) : most_(bent(std::max(most, 0.1))) {}
  [[nodiscard]] double at(double by) const {
    constexpr double kHalf = 44;
    if (std::isinf(by)) return by > 0 ? 98 : 2;
    return 50 + kHalf * bent(by) / most_;
  }
  [[nodiscard]] bool holds(double by) const { return bent(by) <= most_ * 1.001; }

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
                       results::text_of(figure.with), noise_text(figure)),
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
         "times that differ by noise.</p>\n"
         "<div class=\"dots-axis small\"><span>better</span><span>worse</span></div>\n"
         "<div class=\"dot-plot\">\n" +
         rows + "</div>\n";
}

}  // namespace e4r::review
