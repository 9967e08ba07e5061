// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/causes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "guest/kernel_file.h"
#include "replay/engine.h"
#include "replay/search_reasons.h"
#include "report/headline.h"
#include "results/rows.h"
#include "util/units.h"

namespace e4r::app {
namespace {

using Figure = results::Cause::Figure;
using replay::Reason;
using Counts = replay::SearchReasons::Counts;

// A policy of the comparison, with the results of its run.
struct Side {
  const results::Outcome* run = nullptr;
  const replay::SearchReasons* reasons = nullptr;

  [[nodiscard]] const Counts& counts(Figure of) const {
    return of == Figure::steps ? reasons->steps() : reasons->extents();
  }
  [[nodiscard]] const allocator::Tunables& tunables() const { return run->tunables; }
};

std::string stops(const Side& side) {
  return fmt::format("in searches that stop at mb_max_to_scan={}", side.tunables().mb_max_to_scan);
}

// A cause, and how its sentence is formed: "it " + verb + count + rest.
struct Rule {
  std::string_view name;        // its section in docs/causes.md
  std::string_view changed_by;  // the tunable or version that changes it
  Reason reason;
  std::string_view verb;
  std::string (*rest)(const Side&);
  // The rest of the sentence about extents of files; null if the rule does not apply to them.
  std::string (*of_extents)(const Side&) = nullptr;
};

// One rule for each section of docs/causes.md. Each is tested on a capture where it holds and on
// one where it does not (test/app/causes_test.cc, test/golden/causes).
constexpr std::array kRules = {
    Rule{"goal-too-long", "mb_group_prealloc, Linux 6.5", Reason::goal_too_long, "refuses",
         [](const Side& side) {
           return fmt::format("groups that have no room for the goal (mostly {}\u00a0clusters)",
                              format_count(side.reasons->long_goal()));
         }},
    Rule{"lost-group-goal", "linux-7.3-group-goal", Reason::lost_goal, "takes",
         [](const Side&) {
           return std::string(
               "steps in searches that have lost the goal of their group preallocation");
         },
         [](const Side&) {
           return std::string("in searches that have lost the goal of their group preallocation");
         }},
    Rule{"max-to-scan", "mb_max_to_scan", Reason::max_to_scan, "examines",
         [](const Side& side) { return "extents " + stops(side); }, stops},
    Rule{"lists-or-walks", "mb_optimize_scan, Linux 5.13", Reason::walk, "refuses",
         [](const Side&) {
           return std::string(
               "groups one by one in criteria that could use lists by free space, but do not");
         }},
    Rule{"linear-groups", "mb_max_linear_groups", Reason::linear_groups, "refuses",
         [](const Side& side) {
           return fmt::format("groups before it uses its lists (mb_max_linear_groups={})",
                              side.tunables().mb_max_linear_groups);
         }},
    Rule{"full-groups-in-lists", "Linux 6.1.149, 6.6.103, 6.12.43", Reason::full_in_lists, "meets",
         [](const Side&) { return std::string("full groups, which stay in its lists"); }},
    Rule{"stripe", "mb_stripe, Linux 6.8", Reason::unaligned, "considers",
         [](const Side& side) {
           return fmt::format("groups without free space at a multiple of mb_stripe={}",
                              side.tunables().mb_stripe);
         }},
    Rule{"groups-not-loaded", "Linux 5.9", Reason::not_loaded, "passes",
         [](const Side&) { return std::string("groups whose bitmaps are not loaded yet"); }},
};

std::uint64_t sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::string percent_text(double percent, std::string_view of) {
  constexpr double kAll = 100.05;
  if (percent >= kAll) return fmt::format("more than {}", of);
  return fmt::format("{:.1f}\u00a0% of {}", percent, of);
}

std::string capitalized(std::string text) {
  if (text.starts_with("it ")) text[0] = 'I';
  return text;
}

// Describes the cause in a sentence. `who` is the policy for which the cause is stronger.
std::string sentence_of(const Rule& rule, const results::Cause& cause, const Side& side,
                        std::string_view who, std::string_view whole) {
  const std::string count = fmt::format("{}\u00a0{}", format_count(cause.count - cause.other),
                                        cause.other > 0 ? "more " : "");
  const std::string what = cause.of == Figure::steps
                               ? fmt::format("{} {}{}", rule.verb, count, rule.rest(side))
                               : fmt::format("begins {}extents with blocks that it has found {}",
                                             count, rule.of_extents(side));
  return capitalized(fmt::format("{} {}: {}.", who, what, percent_text(cause.percent, whole)));
}

std::uint64_t count_of(const Side& side, const Rule& rule, Figure of) {
  return side.counts(of)[static_cast<std::size_t>(rule.reason)];
}

double percent_of(double part, double whole) {
  return whole == 0 ? 0 : 100 * part / whole;
}

bool is_about(const Rule& rule, Figure of) {
  return of == Figure::steps || rule.of_extents != nullptr;
}

results::Cause cause_of(const Rule& rule, Figure of, const Side& more) {
  results::Cause out;
  out.name = rule.name;
  out.changed_by = rule.changed_by;
  out.of = of;
  out.policy = more.run->policy->name;
  out.count = count_of(more, rule, of);
  return out;
}

// Returns the reasons for most of a policy's steps.
results::Why own_causes(const Side& side) {
  results::Why out;
  const auto whole = static_cast<double>(sum(side.reasons->steps()));
  for (const Rule& rule : kRules) {
    results::Cause cause = cause_of(rule, Figure::steps, side);
    cause.percent = percent_of(static_cast<double>(cause.count), whole);
    if (cause.percent < kLeastPercent) continue;
    cause.sentence = sentence_of(rule, cause, side, "it", "its steps");
    out.causes.push_back(std::move(cause));
  }
  return out;
}

// The figure that is compared in addition to report::steps_per_request().
results::Value extents_of(const results::Outcome& run) {
  return results::find_row("files/avg_extents")->of(run);
}

// Compares a figure with the same figure of the first policy. Returns 1 if it is larger and -1 if
// it is smaller, by more than kDifferPercent and more than chance explains. Otherwise returns 0.
int differs(const report::ReplayReport& report, Figure of, const Side& first, const Side& side) {
  const auto figure = of == Figure::steps ? report::steps_per_request : extents_of;
  const auto from = results::number_of(figure(*first.run));
  const auto to = results::number_of(figure(*side.run));
  if (!from || !to || *from <= 0 || *to <= 0) return 0;
  const double percent = std::abs(*to / *from - 1) * 100;
  if (percent < kDifferPercent || percent <= report::luck_of(report, figure)) return 0;
  return *to > *from ? 1 : -1;
}

// Returns the rules that account for part of the difference in the figure, the rule with the
// largest part first.
std::vector<results::Cause> causes_of(Figure of, const Side& first, const Side& side, int sign) {
  std::vector<results::Cause> out;
  const double whole =
      static_cast<double>(sum(side.counts(of))) - static_cast<double>(sum(first.counts(of)));
  if (whole * sign <= 0) return out;
  const Side& more = sign > 0 ? side : first;
  const Side& fewer = sign > 0 ? first : side;
  for (const Rule& rule : kRules) {
    if (!is_about(rule, of)) continue;
    results::Cause cause = cause_of(rule, of, more);
    cause.other = count_of(fewer, rule, of);
    if (cause.count <= cause.other) continue;
    cause.percent = percent_of(static_cast<double>(cause.count - cause.other), std::abs(whole));
    cause.sentence =
        sentence_of(rule, cause, more, sign > 0 ? "it" : more.run->policy->name,
                    of == Figure::steps ? "the difference in steps" : "the difference in extents");
    out.push_back(std::move(cause));
  }
  std::ranges::stable_sort(
      out, [](const results::Cause& a, const results::Cause& b) { return a.percent > b.percent; });
  return out;
}

// Returns the largest cause for each figure that differs. If only one figure differs, it may have
// two causes.
results::Why differences(const report::ReplayReport& report, const Side& first, const Side& side) {
  results::Why out;
  std::optional<results::Cause> second;
  std::size_t figures = 0;
  for (const Figure of : {Figure::steps, Figure::extents}) {
    const int sign = differs(report, of, first, side);
    if (sign == 0) continue;
    ++figures;
    std::vector<results::Cause> causes = causes_of(of, first, side, sign);
    const bool known =
        !causes.empty() && causes[0].percent >= kLeastPercent && causes[0].percent <= kMostPercent;
    if (!known) {
      out.unexplained.push_back(of);
      continue;
    }
    if (causes.size() > 1 && causes[1].percent >= kSecondPercent) second = causes[1];
    out.causes.push_back(std::move(causes[0]));
  }
  if (figures == 1 && second) out.causes.push_back(*std::move(second));
  return out;
}

}  // namespace

std::vector<std::string_view> cause_names() {
  std::vector<std::string_view> out;
  out.reserve(kRules.size());
  for (const Rule& rule : kRules) out.push_back(rule.name);
  return out;
}

void find_causes(std::span<const replay::Run> runs, report::ReplayReport& report) {
  if (runs.empty()) return;
  const auto side_of = [&](std::size_t i) {
    return Side{&report.runs[i], runs[i].engine->find<replay::SearchReasons>()};
  };
  const Side first = side_of(0);
  const auto is_kernel = [](const results::Outcome& run) { return guest::is_kernel(*run.policy); };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    results::Outcome& run = report.runs[i];
    if (is_kernel(run))
      run.why = results::Why{"A kernel's code does not report its steps.", {}, {}};
    else if (is_kernel(*first.run))
      run.why = results::Why{"The first policy's code does not report its steps.", {}, {}};
    else
      run.why = i == 0 ? own_causes(first) : differences(report, first, side_of(i));
  }
}

}  // namespace e4r::app
