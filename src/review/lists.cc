// SPDX-License-Identifier: GPL-2.0-or-later
// The statements of a review that cover all cases: changes, their sizes, and the noise.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "review/review.h"
#include "util/units.h"

namespace e4r::review {
namespace {

// Returns the ratio of the larger value to the smaller.
double factor_of(double base, double with) {
  return std::max(base, with) / std::min(base, with);
}

double with_of(const Figure& figure) {
  return results::number_of(figure.with).value_or(0);
}

const Figure& figure_at(const Review& review, const CaseFigure& one) {
  return review.cases[one.of].figures[one.figure];
}

// Sorts the largest changes first. Among changes from zero, the largest new value comes first.
void sort_by_size(const Review& review, std::vector<CaseFigure>& all) {
  std::ranges::stable_sort(all, std::greater(), [&review](const CaseFigure& one) {
    const Figure& figure = figure_at(review, one);
    return std::tuple(!is_time(figure), size_of(figure),
                      std::isinf(size_of(figure)) ? with_of(figure) : 0.0);
  });
}

Summary::Way way_of(const Review& review, std::vector<CaseFigure> all) {
  if (all.empty()) return {};
  sort_by_size(review, all);
  return {all.size(), all[all.size() / 2], all.front()};
}

// Returns the relative difference from 1 that 19 of 20 of the factors do not exceed.
double width_of(std::vector<double> factors) {
  std::ranges::sort(factors);
  const auto most = static_cast<double>(factors.size() - 1);
  return factors[static_cast<std::size_t>(std::ceil(most * 0.95))] - 1;
}

void find_bands(Review& review) {
  std::map<std::string, std::vector<double>> factors;
  for (const Case& one : review.cases)
    for (const Figure& figure : one.alike_times) {
      const auto base = results::number_of(figure.base), with = results::number_of(figure.with);
      if (base && with && *base > 0 && *with > 0)
        factors[figure.row->key].push_back(factor_of(*base, *with));
    }
  review.bands.clear();
  for (const auto& [key, all] : factors) review.bands.push_back({key, all.size(), width_of(all)});
  for (Case& one : review.cases)
    for (Figure& figure : one.figures) {
      const auto band = std::ranges::find(review.bands, figure.row->key, &Band::key);
      if (band != review.bands.end()) figure.noise = std::max(figure.noise, band->width);
    }
}

void gather_caveats(Review& review) {
  review.caveats.clear();
  for (std::size_t i = 0; i < review.cases.size(); ++i)
    for (const std::string& text : review.cases[i].caveats) {
      auto known = std::ranges::find(review.caveats, text, &Caveat::text);
      if (known == review.caveats.end())
        known = review.caveats.insert(review.caveats.end(), Caveat{text, {}});
      known->of.push_back(i);
    }
}

// Keys of the rows that count decisions based on guessed values. Only cases with such requests have
// them.
constexpr std::string_view kGuessedSizes = "guessed_sizes", kGuessedWriters = "guessed_writers";

// How many of a policy's decisions depended on values that e4replay chose.
struct Guesses {
  std::uint64_t requests = 0, sizes = 0, writers = 0;
  std::vector<std::size_t> of;  // indexes of the cases
};

Guesses guesses_of(const Review& review, results::Value Figure::*side) {
  Guesses out;
  for (std::size_t i = 0; i < review.cases.size(); ++i) {
    const auto count = [&](std::string_view key) {
      const std::vector<Figure>& figures = review.cases[i].figures;
      const auto found = std::ranges::find(
          figures, key, [](const Figure& figure) -> std::string_view { return figure.row->key; });
      if (found == figures.end()) return std::uint64_t{0};
      return static_cast<std::uint64_t>(results::number_of((*found).*side).value_or(0));
    };
    const std::uint64_t sizes = count(kGuessedSizes), writers = count(kGuessedWriters);
    if (sizes + writers == 0) continue;
    out.requests += count("requests");
    out.sizes += sizes;
    out.writers += writers;
    out.of.push_back(i);
  }
  return out;
}

void tell_guesses(Review& review) {
  std::vector<Caveat> caveats;
  for (const auto& [side, value] :
       {std::pair(&review.base, &Figure::base), std::pair(&review.with, &Figure::with)}) {
    Guesses guesses = guesses_of(review, value);
    if (guesses.of.empty()) continue;
    std::string text = fmt::format(
        "{}: of {} requests, {} depended on a file size that was not recorded, and {} on whether "
        "the file was open for writing: e4replay chose values consistent with the trace. A change "
        "that depends on the exact values may decide differently with the true ones, which "
        "`e4replay record --events full` records",
        side->policy->name, format_count(guesses.requests), format_count(guesses.sizes),
        format_count(guesses.writers));
    caveats.push_back({std::move(text), std::move(guesses.of)});
  }
  if (caveats.size() == 2 && caveats[0].text == caveats[1].text) caveats.pop_back();
  std::ranges::move(caveats, std::back_inserter(review.caveats));
}

}  // namespace

std::vector<Figure> figures_of(const results::Outcome& base, const results::Outcome& with) {
  std::vector<Figure> out;
  for (const results::Row& row : results::rows(results::Reporter::review)) {
    Figure figure = {&row, row.of(base), row.of(with)};
    if (results::is_none(figure.base) && results::is_none(figure.with)) continue;
    // Leaves out, for example, the row of a rung in which no search ended.
    if (row.show == results::Show::nonzero && results::is_zero_or_none(figure.base) &&
        results::is_zero_or_none(figure.with))
      continue;
    out.push_back(figure);
  }
  return out;
}

Failures failures_of(const Review& review) {
  Failures out;
  for (std::size_t i = 0; i < review.cases.size(); ++i) {
    const auto& [base, with] = review.cases[i].failed;
    if (!with.empty()) out.with.push_back(i);
    if (!base.empty() && with.empty()) out.base_alone.push_back(i);
    out.both += !base.empty() && !with.empty() ? 1 : 0;
  }
  return out;
}

Change change_of(const Figure& figure) {
  const auto base = results::number_of(figure.base), with = results::number_of(figure.with);
  if (!base || !with) return Change::unknown;
  const double by = is_time(figure) ? factor_of(*base, *with) - 1 : size_of(figure);
  if (*base == *with || (figure.noise > 0 && by <= figure.noise)) return Change::same;
  if (figure.row->better == results::Better::none) return Change::unknown;
  return (*with < *base) == (figure.row->better == results::Better::lower) ? Change::better
                                                                           : Change::worse;
}

double size_of(const Figure& figure) {
  const auto base = results::number_of(figure.base), with = results::number_of(figure.with);
  if (!base || !with || *base == *with) return 0;
  if (*base == 0) return std::numeric_limits<double>::infinity();
  return std::abs(*with - *base) / *base;
}

bool is_time(const Figure& figure) {
  return figure.row->is_time();
}

void conclude(Review& review) {
  for (const Case& one : review.cases) {
    review.timed = review.timed || !one.alike_times.empty();
    for (const Figure& figure : one.figures) review.timed = review.timed || is_time(figure);
  }
  find_bands(review);
  gather_caveats(review);
  tell_guesses(review);
}

std::vector<CaseFigure> list_changed(const Review& review, Change change) {
  std::vector<CaseFigure> out;
  for (std::size_t of = 0; of < review.cases.size(); ++of)
    for (std::size_t i = 0; i < review.cases[of].figures.size(); ++i) {
      const Figure& figure = review.cases[of].figures[i];
      if (figure.row->place != results::Place::lists) continue;
      const double least = is_time(figure) ? kWorthTellingOfTimes : kWorthTelling;
      if (change_of(figure) == change && size_of(figure) >= least) out.push_back({of, i});
    }
  sort_by_size(review, out);
  return out;
}

std::vector<CaseFigure> list_largest(const Review& review, Change change) {
  constexpr std::size_t kMost = 5;  // per figure
  const std::vector<CaseFigure> all = list_changed(review, change);
  std::vector<CaseFigure> out;
  for (const Summary& summary : summaries_of(review, change)) {
    std::size_t count = 0;
    for (const CaseFigure& one : all)
      if (figure_at(review, one).row->key == summary.row->key && count++ < kMost)
        out.push_back(one);
  }
  return out;
}

std::vector<Summary> summaries(const Review& review) {
  std::vector<Summary> out;
  std::map<std::string, std::map<Change, std::vector<CaseFigure>>> changes;
  for (std::size_t of = 0; of < review.cases.size(); ++of)
    for (std::size_t i = 0; i < review.cases[of].figures.size(); ++i) {
      const Figure& figure = review.cases[of].figures[i];
      if (figure.row->place != results::Place::lists || figure.row->better == results::Better::none)
        continue;
      auto known = std::ranges::find(out, figure.row->key,
                                     [](const Summary& summary) { return summary.row->key; });
      if (known == out.end()) known = out.insert(out.end(), Summary{figure.row, 0, {}, {}});
      const Change change = change_of(figure);
      if (change == Change::unknown) continue;  // one of the policies lacks the figure
      ++known->cases;
      changes[figure.row->key][change].push_back({of, i});
    }
  for (Summary& summary : out) {
    summary.worse = way_of(review, std::move(changes[summary.row->key][Change::worse]));
    summary.better = way_of(review, std::move(changes[summary.row->key][Change::better]));
  }
  std::stable_partition(out.begin(), out.end(),
                        [](const Summary& summary) { return !summary.row->is_time(); });
  return out;
}

std::vector<Summary> summaries_of(const Review& review, Change change) {
  std::vector<Summary> out = summaries(review);
  const std::vector<CaseFigure> all = list_changed(review, change);
  std::erase_if(out, [&](const Summary& summary) {
    return std::ranges::none_of(all, [&](const CaseFigure& one) {
      return figure_at(review, one).row->key == summary.row->key;
    });
  });
  return out;
}

}  // namespace e4r::review
