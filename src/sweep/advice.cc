// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "util/escaped.h"
#include "util/units.h"

namespace e4r::sweep {
namespace {

// A point with the criteria by which it is chosen.
struct Candidate {
  Changes changes;
  double cost = 0;
  double pieces = 0;
  double product = 0;
};

// `files`: some point leaves files.
std::optional<Candidate> candidate(const Plan& plan, const Figures& figures, std::size_t index,
                                   bool files) {
  const auto cost = results::number_of(search_cost(figures, index));
  const auto pieces = results::number_of(figure_of(figures, index, kFragmentationRow));
  const auto requests = results::number_of(figure_of(figures, index, "requests"));
  if (!cost || !pieces || !requests || (files && *pieces == 0)) return std::nullopt;
  return Candidate{changes(plan, index), *cost, *pieces,
                   (*requests + *cost) * (files ? *pieces : 1)};
}

bool equal(const Candidate& a, const Candidate& b) {
  return a.cost == b.cost && a.pieces == b.pieces;
}

Advice choose(const Plan& plan, std::uint32_t capture, const std::vector<Candidate>& all,
              const std::vector<Candidate>& best) {
  const auto least = [](const std::vector<Candidate>& of, auto by) {
    return *std::ranges::min_element(
        of, [&](const Candidate& a, const Candidate& b) { return by(a) < by(b); });
  };
  const Candidate balanced =
      least(best, [](const Candidate& c) { return std::tuple(c.product, c.cost, c.changes); });
  Advice out;
  out.capture = capture;
  out.cheapest = least(best, [](const Candidate& c) {
                   return std::tuple(c.cost, c.pieces, c.changes);
                 }).changes.index;
  out.fewest = least(best, [](const Candidate& c) {
                 return std::tuple(c.pieces, c.cost, c.changes);
               }).changes.index;
  out.balanced = balanced.changes.index;
  out.dearest = least(all, [](const Candidate& c) {
                  return std::tuple(-c.cost, c.pieces, c.changes);
                }).changes.index;
  for (const Candidate& c : all)
    if (c.changes.of_recorded == 0 &&
        plan.points[c.changes.index].policy == plan.spec.policies.front())
      out.recorded = c.changes.index;
  out.points = all.size();
  out.as_good = static_cast<std::uint64_t>(std::ranges::count_if(
                    all, [&](const Candidate& c) { return equal(c, balanced); })) -
                1;
  return out;
}

results::Value ratio(const results::Value& above, const results::Value& below) {
  const auto a = results::number_of(above), b = results::number_of(below);
  if (!a || !b || *b == 0) return {};
  return *a / *b;
}

// "0.05 steps of search per request and 1.00 extents per file"; without files, the steps alone.
std::string figures_text(const Figures& figures, std::size_t index, bool files) {
  if (!files)
    return fmt::format("{} steps of search per request",
                       results::text_of(steps_per_request(figures, index)));
  return fmt::format("{} steps of search per request and {} extents per file",
                     results::text_of(steps_per_request(figures, index)),
                     results::text_of(extents_per_file(figures, index)));
}

// Such as ", 12.5 % fewer steps than legacy with the recorded settings".
std::string against_recorded(const Plan& plan, const Figures& figures, const Advice& advice) {
  if (!advice.recorded || *advice.recorded == advice.balanced) return {};
  const auto cost = results::number_of(search_cost(figures, advice.balanced));
  const auto before = results::number_of(search_cost(figures, *advice.recorded));
  if (!cost || !before || *before == 0) return {};
  const std::string name =
      fmt::format("{} with the recorded settings", plan.points[*advice.recorded].policy->name);
  if (*cost == *before) return fmt::format(", as many steps as {}", name);
  constexpr double kLeast = 0.05;  // rounds to 0.1
  const double percent = 100 * std::abs(1 - *cost / *before);
  return fmt::format(", {} % {} steps than {}",
                     percent < kLeast ? "less than 0.1" : fmt::format("{:.1f}", percent),
                     *cost < *before ? "fewer" : "more", name);
}

std::string others(std::uint64_t as_good) {
  if (as_good == 0) return {};
  return as_good == 1 ? " (another point equals it)"
                      : fmt::format(" ({} other points equal it)", format_count(as_good));
}

}  // namespace

results::Value steps_per_request(const Figures& figures, std::size_t index) {
  return ratio(search_cost(figures, index), figure_of(figures, index, "requests"));
}

results::Value extents_per_file(const Figures& figures, std::size_t index) {
  // A ratio that was written without decimals reads as a count.
  const auto value = results::number_of(figure_of(figures, index, "files/avg_extents"));
  return value ? results::Value(*value) : results::Value();
}

std::vector<Advice> advise(const Plan& plan, const Figures& figures) {
  return advise(plan, figures, rank(plan, figures, *results::find_row(kFragmentationRow)));
}

std::vector<Advice> advise(const Plan& plan, const Figures& figures,
                           const std::vector<Ranking>& rankings) {
  std::vector<Advice> out;
  for (const Ranking& ranking : rankings) {
    const bool files = leaves_files(figures, ranking.order);
    std::vector<Candidate> all, best;
    for (const std::size_t index : ranking.order) {
      const auto one = candidate(plan, figures, index, files);
      if (!one) continue;
      all.push_back(*one);
      if (std::ranges::binary_search(ranking.front, index)) best.push_back(*one);
    }
    if (best.empty()) continue;
    out.push_back(choose(plan, ranking.capture, all, best));
    out.back().files = files;
  }
  return out;
}

std::string point_name(const Plan& plan, std::size_t index) {
  const Point& point = plan.points[index];
  std::string out(point.policy->name);
  std::string_view before = " with ";
  for (std::size_t i = 0; i < point.values.size(); ++i) {
    if (!point.values[i]) continue;
    out += fmt::format("{}{}={}", before, plan.spec.axes[i].tunable->name, *point.values[i]);
    before = " ";
  }
  return out;
}

std::vector<std::string> sentences(const Plan& plan, const Figures& figures, const Advice& advice) {
  const auto of = [&](std::size_t index) { return figures_text(figures, index, advice.files); };
  if (advice.as_good + 1 == advice.points)
    return {fmt::format("Nothing that was tried makes a difference to searches{}: {}.",
                        advice.files ? " or files" : ", and no file is left", of(advice.balanced))};
  const std::string here =
      fmt::format("{}{}: {}{}.", point_name(plan, advice.balanced), others(advice.as_good),
                  of(advice.balanced), against_recorded(plan, figures, advice));
  if (!advice.files)
    return {
        fmt::format("No file is left at the end, so searches alone count. Of {} points, they are "
                    "cheapest under {}",
                    format_count(advice.points), here)};
  if (advice.cheapest == advice.fewest)
    return {
        fmt::format("Of {} points, the cheapest in searches leaves files in fewest extents too: {}",
                    format_count(advice.points), here)};
  std::vector<std::string> out = {
      fmt::format("The best balance of {} points is {}", format_count(advice.points), here)};
  if (advice.balanced != advice.cheapest)
    out.push_back(fmt::format("Searches are cheapest under {}: {}.",
                              point_name(plan, advice.cheapest), of(advice.cheapest)));
  if (advice.balanced != advice.fewest)
    out.push_back(fmt::format("Files lie in fewest extents under {}: {}.",
                              point_name(plan, advice.fewest), of(advice.fewest)));
  return out;
}

std::string advice_text(const Plan& plan, const Figures& figures) {
  std::string out;
  for (const Advice& advice : advise(plan, figures)) {
    out += escaped(plan.spec.captures[advice.capture]) + ":\n";
    for (const std::string& sentence : sentences(plan, figures, advice))
      out += "  " + sentence + "\n";
  }
  return out;
}

}  // namespace e4r::sweep
