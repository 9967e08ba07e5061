// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "report/json_parts.h"
#include "review/review.h"
#include "review/words.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::review {
namespace {

// Mail programs and `git am` leave lines of this length unchanged.
constexpr std::size_t kColumns = 72;

std::string heading(const std::string& text, char line) {
  return text + "\n" + std::string(text.size(), line) + "\n";
}

// Wraps words. The first line begins with `line`, later lines are indented. `end` marks each line
// break. A word longer than a line stays whole.
std::string wrap(std::string line, const std::vector<std::string>& words, std::size_t indent,
                 std::string_view end = {}) {
  std::string out;
  bool begun = false;
  for (const std::string& word : words) {
    if (begun && line.size() + 1 + word.size() + end.size() > kColumns) {
      out += line + std::string(end) + "\n";
      line = std::string(indent, ' ');
    } else if (begun) {
      line += ' ';
    }
    line += word;
    begun = true;
  }
  return out + line + "\n";
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// Removes trailing spaces.
std::string trim(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

// Shortens the string to `most` columns; a final "~" marks the cut.
std::string cut(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : text.substr(0, most - 1) + "~";
}

// Formats a value in at most ten columns.
std::string cell(const results::Value& value) {
  std::string text = results::text_of(value);
  if (text.size() <= 10) return text;
  return fmt::format("{:.4g}", results::number_of(value).value_or(0));
}

// Formats a change in at most eight columns.
std::string change_cell(const Figure& figure) {
  std::string text = change_text(figure);
  if (text.size() <= 8) return text;
  return fmt::format("x{:.1e}",
                     *results::number_of(figure.with) / *results::number_of(figure.base));
}

std::string figure_line(const std::string& where, const Figure& figure) {
  return trim(fmt::format("{:<18} {:<22} {:>10} {:>10} {:>8}", cut(where, 18),
                          cut(figure.row->label, 22), cell(figure.base), cell(figure.with),
                          change_cell(figure)));
}

// Describes the failures, which come first because they are worse than any change.
std::string failures_list(const Review& review, Change change) {
  constexpr std::size_t kMost = 5;  // cases
  const std::string head = failures_text(review, change);
  if (head.empty()) return {};
  std::string out = wrap("", words_of(head + ":"), 2);
  const Failures all = failures_of(review);
  const std::vector<std::size_t>& of = all.of(change);
  for (std::size_t i = 0; i < std::min(of.size(), kMost); ++i) {
    const Case& one = review.cases[of[i]];
    const std::string& why = one.failed[change == Change::worse ? 1 : 0];
    out += wrap("  ", words_of(escape(one.name + ": " + why)), 4);
  }
  if (of.size() > kMost) out += fmt::format("  and in {} more, below\n", of.size() - kMost);
  return out + "\n";
}

// One line for each figure, and below it the cases in which it changed most.
std::string changes_text(const Review& review, Change change) {
  const std::vector<CaseFigure> some = list_largest(review, change);
  std::string out = failures_list(review, change);
  if (some.empty()) return out + nothing_changed(review, change) + "\n";
  for (const Summary& summary : summaries_of(review, change))
    out += wrap(summary.row->label + ": ", words_of(way_text(review, summary, change)), 2);
  out += fmt::format("\n{:<18} {:<22} {:>10} {:>10} {:>8}\n", "where", "figure", "base", "with",
                     "change");
  for (const CaseFigure& one : some)
    out += figure_line(escape(review.cases[one.of].name), review.cases[one.of].figures[one.figure]);
  const std::size_t all = list_changed(review, change).size();
  if (all > some.size())
    out += fmt::format("and {} more of these figures, below\n", all - some.size());
  return out;
}

std::string inputs_text(const Review& review) {
  std::string out = fmt::format("{:<18} {:<18} {:<13} {:>10} {:>9}\n", "where", "file system",
                                "recorded on", "decisions", "followed");
  for (const Case& one : review.cases)
    out += fmt::format("{:<18} {:<18} {:<13} {:>10} {:>9}\n", cut(escape(one.name), 18),
                       cut(shape_text(one), 18), cut(one.aged ? "-" : escape(one.kernel), 13),
                       one.aged ? "-" : format_count(one.decisions),
                       one.aged ? "-" : followed_text(one));
  return out;
}

std::string refusals_text(const Review& review) {
  std::string out;
  for (const Case& one : review.cases)
    if (!one.refused.empty()) out += wrap("", words_of(escape(one.name + ": " + one.refused)), 2);
  return out.empty() ? out : heading("Not compared", '-') + out + "\n";
}

std::string caveats_text(const Review& review) {
  std::string out;
  for (const Caveat& caveat : review.caveats)
    out += wrap("",
                words_of(fmt::format("{} (in {}: {})", escape(caveat.text), caveat.of.size(),
                                     names_text(review, caveat.of))),
                2);
  return out.empty() ? out : heading("Caveats", '-') + out + "\n";
}

std::string histogram_text(const Case& one) {
  std::string out = fmt::format("  {:<20} {:>12} {:>8} {:>14} {:>8}\n", "free extents of", "base",
                                "% free", "with", "% free");
  for (std::size_t i = 0; i < stats::FreeExtents::kBuckets; ++i) {
    const auto &base = one.free_base.buckets[i], &with = one.free_with.buckets[i];
    if (base.extents == 0 && with.extents == 0) continue;
    out += fmt::format("  {:<20} {:>12} {:>8.2f} {:>14} {:>8.2f}\n", range_text(i, one.block_size),
                       format_count(base.extents), percent_of(base.blocks, one.free_base.blocks),
                       format_count(with.extents), percent_of(with.blocks, one.free_with.blocks));
  }
  return out;
}

std::string case_text(const Case& one) {
  std::string out = escape(one.name) + "\n";
  for (const Figure& figure : one.figures)
    if (figure.row->place != results::Place::document)
      out += trim(fmt::format("  {:<24} {:>14} {:>14} {:>10}{}", figure.row->label,
                              results::text_of(figure.base), results::text_of(figure.with),
                              change_text(figure), luck_text(figure)));
  return out + histogram_text(one) + "\n";
}

// Lists the figures of each case, except for cases with equal decisions: they have no figures to
// show.
std::string cases_text(const Review& review) {
  std::string out;
  if (const auto alike = alike_cases(review); !alike.empty())
    out += wrap("",
                words_of(fmt::format("Both made the same decision for every request in {}: {}.",
                                     alike.size(), names_text(review, alike))),
                2) +
           "\n";
  for (const Case& one : review.cases)
    if (one.refused.empty() && !one.alike) out += case_text(one);
  return out;
}

}  // namespace

std::string review_text(const Review& review, const ReviewOrigin& origin) {
  std::string out = heading("Allocator review", '=') + "\n";
  for (const auto& [name, side] :
       {std::pair("base  ", &review.base), std::pair("with  ", &review.with)}) {
    out += wrap(name, words_of(side_text(*side)), 6);
    if (const std::string code = code_text(*side); !code.empty())
      out += wrap("      ", words_of(code), 6);
  }
  std::vector<std::string> command;
  for (const std::string& word : origin.command) command.push_back(escape(word));
  out += fmt::format("\nMade by {} with\n\n", origin.program) + wrap("  ", command, 6, " \\");
  out += "\n" + wrap("", words_of(summary_text(review)), 0) + "\n";
  if (review.timed) out += wrap("", words_of(times_note(review)), 0) + "\n";
  out += heading("What got worse", '-') + changes_text(review, Change::worse) + "\n";
  out += heading("What got better", '-') + changes_text(review, Change::better) + "\n";
  out += refusals_text(review);
  out += caveats_text(review);
  out += heading("What was replayed", '-') + inputs_text(review) + "\n";
  out += wrap("", words_of(inputs_note(review)), 0) + "\n";
  out += heading("Case by case", '-');
  out += cases_text(review);
  out.pop_back();
  return out;
}

}  // namespace e4r::review
