// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/headline.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "util/units.h"

namespace e4r::report {

results::Value steps_per_request(const results::Outcome& run) {
  const results::Row& row = *results::find_row("steps", results::Reporter::hunt);
  const auto steps = results::number_of(row.of(run));
  if (!steps || run.tally.requests == 0) return {};
  return *steps / static_cast<double>(run.tally.requests);
}

namespace {

constexpr std::string_view kNoBreak = "\u00a0";

// Compares a policy's figure with the first policy's; empty if either is missing.
std::string against_first(const HeadlineFigure& figure, std::size_t first, std::size_t column) {
  constexpr double kSame = 0.0005, kManyTimes = 3;
  const auto from = results::number_of(figure.values[first]),
             to = results::number_of(figure.values[column]);
  if (!from || *from <= 0 || !to) return {};
  const double times = *to / *from;
  if (std::abs(times - 1) < kSame || std::abs(times - 1) * 100 <= figure.luck)
    return figure.lead + " " + figure.same;
  if (times > kManyTimes)
    return fmt::format("{} {:.1f}\u00a0times {}", figure.lead, times, figure.same);
  return fmt::format("{} {:.1f}\u00a0% {}", figure.lead, std::abs(times - 1) * 100,
                     times < 1 ? figure.fewer : figure.more);
}

std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += i + 1 == parts.size() ? " and " : ", ";
    out += parts[i];
  }
  return out;
}

std::string against_first(const std::vector<HeadlineFigure>& figures, std::size_t first,
                          std::size_t column) {
  std::vector<std::string> parts;
  for (const HeadlineFigure& figure : figures)
    if (std::string part = against_first(figure, first, column); !part.empty())
      parts.push_back(std::move(part));
  return parts.empty() ? "no difference is known" : join(parts);
}

// A statement that is the same for several policies is printed only once.
struct Claim {
  std::string what;
  std::vector<std::string> policies;
};

std::string of_one(const ReplayReport& report, const std::vector<HeadlineFigure>& figures) {
  const auto text = [&](std::size_t i) { return results::text_of(figures[i].values.back()); };
  return fmt::format(
      "Under {}, a request takes {} steps on average, a file lies in {} extents, and a free extent "
      "is {} KB long ({} KB at the start).",
      report.runs.front().policy->name, text(0), text(1), text(2),
      format_count(report.start.free.extents.average() * (report.superblock.block_size() / 1024)));
}

}  // namespace

std::vector<HeadlineFigure> key_figures(const ReplayReport& report) {
  HeadlineFigure steps = {"Steps of search per request",
                          "searches take",
                          "fewer steps",
                          "more steps",
                          "as many steps",
                          {},
                          luck_of(report, steps_per_request)};
  const results::Row& extents_row = *results::find_row("files/avg_extents");
  const results::Row& free_row = *results::find_row("free_extents/avg_kb");
  HeadlineFigure extents = {"Extents per file",
                            "files lie in",
                            "fewer extents",
                            "more extents",
                            "as many extents",
                            {},
                            luck_of(report, extents_row.of)};
  HeadlineFigure free = {
      "Average free extent, KB",   "free extents are", "shorter", "longer", "as long", {},
      luck_of(report, free_row.of)};
  const std::vector<Column> beside = columns(report);
  for (const Column& column : beside) steps.values.push_back(steps_per_request(*column.run));
  extents.values = values_of(extents_row, beside);
  free.values = values_of(free_row, beside);
  return {steps, extents, free};
}

namespace {

// Returns the sentences about one run; empty if there is nothing to say.
std::string why_text(const ReplayReport& report, const results::Outcome& run) {
  using Figure = results::Cause::Figure;
  if (!run.why->missing.empty()) return std::string(run.why->missing);
  std::vector<std::string> sentences;
  for (const results::Cause& cause : run.why->causes) sentences.push_back(cause.sentence);
  for (const Figure figure : run.why->unexplained)
    sentences.push_back(fmt::format("No rule explains the difference in {}.",
                                    figure == Figure::steps ? "steps" : "extents"));
  if (sentences.empty() && &run != &report.runs.front())
    return fmt::format("There is no difference from {} to explain.",
                       report.runs.front().policy->name);
  return fmt::format("{}", fmt::join(sentences, " "));
}

}  // namespace

std::vector<WhyText> why_texts(const ReplayReport& report) {
  std::vector<Claim> claims;
  for (const results::Outcome& run : report.runs) {
    std::string text = run.why ? why_text(report, run) : std::string();
    if (text.empty()) continue;
    const auto same = std::find_if(claims.begin(), claims.end(),
                                   [&](const Claim& before) { return before.what == text; });
    Claim& here = same == claims.end() ? claims.emplace_back(Claim{std::move(text), {}}) : *same;
    here.policies.emplace_back(run.policy->name);
  }
  std::vector<WhyText> out;
  out.reserve(claims.size());
  for (Claim& one : claims) out.push_back({join(one.policies), std::move(one.what)});
  return out;
}

std::string with_plain_spaces(std::string_view sentence) {
  std::string out(sentence);
  for (auto at = out.find(kNoBreak); at != std::string::npos; at = out.find(kNoBreak, at))
    out.replace(at, kNoBreak.size(), " ");
  return out;
}

std::string wrap(std::string_view sentence, std::size_t width) {
  std::string out, line;
  while (!sentence.empty()) {
    std::string word(sentence.substr(0, sentence.find(' ')));
    sentence.remove_prefix(std::min(word.size() + 1, sentence.size()));
    word = with_plain_spaces(word);
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      out += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? out : out + line + "\n";
}

std::string guesses_text(const ReplayReport& report) {
  std::vector<std::string> counts;
  for (const results::Outcome& run : report.runs)
    if (run.policy->name.starts_with("kernel:") && run.tally.guessed_sizes > 0)
      counts.push_back(fmt::format("{} of {} requests of {}", format_count(run.tally.guessed_sizes),
                                   format_count(run.tally.requests), run.policy->name));
  if (counts.empty()) return {};
  return fmt::format(
      "The size of the file and whether it was open for writing were not recorded for {}: e4replay "
      "chose values consistent with the trace. Code that depends on the exact values may decide "
      "differently with the true ones, which `e4replay record --events full` records.",
      join(counts));
}

std::string headline(const ReplayReport& report) {
  const std::vector<HeadlineFigure> figures = key_figures(report);
  if (report.runs.empty()) return {};
  const std::string guesses = guesses_text(report), doubt = doubt_text(report);
  std::string behind = guesses.empty() ? std::string() : ' ' + guesses;
  if (!doubt.empty()) behind += fmt::format(" But {}.", doubt);
  if (report.runs.size() == 1) return of_one(report, figures) + behind;
  const std::size_t first = first_policy(report);
  std::vector<Claim> claims;
  for (std::size_t run = 1; run < report.runs.size(); ++run) {
    const std::string what = against_first(figures, first, first + run);
    const auto same = std::find_if(claims.begin(), claims.end(),
                                   [&](const Claim& before) { return before.what == what; });
    Claim& here = same == claims.end() ? claims.emplace_back(Claim{what, {}}) : *same;
    here.policies.emplace_back(report.runs[run].policy->name);
  }
  std::string out;
  for (const Claim& one : claims)
    out += fmt::format("{}Under {}, against {}, {}.", out.empty() ? "" : " ", join(one.policies),
                       report.runs.front().policy->name, one.what);
  return out + behind;
}

}  // namespace e4r::report
