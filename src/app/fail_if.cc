// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/fail_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "allocator/policy.h"
#include "util/condition.h"
#include "util/text.h"

namespace e4r::app {
namespace {

using results::Reporter;
using results::Value;

constexpr std::size_t kLongestCondition = 4096;

Error no_figure(const FigureNames& names, std::string_view wanted) {
  constexpr std::size_t kNamed = 5;
  std::string like;
  std::size_t count = 0;
  const std::string_view last = wanted.substr(wanted.find_last_of("/:") + 1);
  for (const std::string& name : names.figures) {
    if (last.size() < 3 || name.find(last) == std::string::npos || count == kNamed) continue;
    like += (like.empty() ? "" : ", ") + name;
    ++count;
  }
  return error("'{}' is neither a number nor the name of a figure: {}", printable(wanted),
               like.empty() ? "the document of --json has their names" : "there is " + like);
}

Result<std::string> find_text(std::string_view what, std::string_view wanted,
                              const std::vector<std::string>& known) {
  if (std::ranges::find(known, wanted) != known.end()) return std::string(wanted);
  std::string all;
  for (const std::string& name : known) all += (all.empty() ? "" : ", ") + printable(name);
  return error("no {} '{}' here: there is {}", what, printable(wanted), all);
}

ConditionNames condition_names(const FigureNames& names) {
  ConditionNames out;
  out.fractions = true;
  out.figure = [&names](std::string_view wanted) -> Result<std::size_t> {
    const auto found = std::ranges::find(names.figures, wanted);
    if (found == names.figures.end()) return no_figure(names, wanted);
    return static_cast<std::size_t>(found - names.figures.begin());
  };
  out.words = {{names.word, [&names](std::string_view written) -> Result<std::string> {
                  const allocator::Policy* known =
                      names.word == "policy" ? allocator::find_policy(written) : nullptr;
                  if (known != nullptr && names.cases.empty()) return std::string(known->name);
                  return find_text(names.word, known ? known->name : written, names.cases);
                }}};
  return out;
}

Result<Condition> parse(const std::string& text, const FigureNames& names) {
  if (text.find_first_not_of(" \t") == std::string::npos) return error("--fail-if: no condition");
  auto out = Condition::parse(text, condition_names(names));
  if (!out.ok())
    return error("--fail-if '{}': {}", printable(text, kLongestCondition), out.error().message);
  return out;
}

std::optional<bool> holds(const Condition& condition, const FigureCase& one) {
  return condition.holds(
      {[&one](std::size_t index) { return results::exact_number_of(one.figures[index]); },
       {one.name}});
}

// Formats "for CASE: FIGURE is 12, FIGURE is 3".
std::string tell(const Condition& condition, const FigureNames& names, const FigureCase& one) {
  std::string figures;
  for (const std::size_t index : condition.figures())
    figures += fmt::format("{}{} is {}", figures.empty() ? "" : ", ", names.figures[index],
                           results::text_of(one.figures[index]));
  return fmt::format("for {}{}{}", printable(one.name), figures.empty() ? "" : ": ", figures);
}

// Formats "FIGURE, FIGURE".
std::string absent_figures(const Condition& condition, const FigureNames& names,
                           std::span<const FigureCase> cases) {
  std::string out;
  for (const std::size_t index : condition.figures())
    if (std::ranges::all_of(
            cases, [&](const FigureCase& one) { return results::is_none(one.figures[index]); }))
      out += (out.empty() ? "" : ", ") + names.figures[index];
  return out;
}

void add_values(std::vector<Value>& out, const results::Outcome* run, Reporter reporter) {
  for (const results::Row& row : results::rows(reporter))
    out.push_back(run != nullptr ? row.of(*run) : Value());
}

std::string writers_prefix(unsigned writers) {
  return fmt::format("writers-{}:", writers);
}

// Adds the figures of one policy, including the figures of many writers.
void add_policy_values(std::vector<Value>& out, const results::Outcome& run, const RunSpec& spec) {
  add_values(out, &run, Reporter::replay);
  for (std::size_t i = 0; i < spec.writers.size(); ++i)
    add_values(out, i < run.by_writers.size() ? &run.by_writers[i] : nullptr, Reporter::writers);
}

struct NamedValue {
  std::string_view key;
  Value value;
};

// Returns a run's agreement with the recorded kernel as figures named "agreement/KEY". The values
// are empty if the run was not compared.
std::vector<NamedValue> agreement_values(const results::Outcome& run) {
  using replay::Agreement;
  const std::optional<Agreement>& agreement = run.agreement ? run.agreement : run.free_run;
  const auto count = [&](std::uint64_t Agreement::*member) {
    return agreement ? Value((*agreement).*member) : Value();
  };
  const auto percent = agreement ? agreement->percent_identical() : std::nullopt;
  return {{"requests", count(&Agreement::requests)},
          {"identical", count(&Agreement::identical)},
          {"percent_identical", percent ? Value(*percent) : Value()},
          {"same_block", count(&Agreement::same_block)},
          {"same_length", count(&Agreement::same_length)},
          {"races", count(&Agreement::races)},
          {"same_groups_scanned", count(&Agreement::same_groups_scanned)},
          {"last_divergence", count(&Agreement::last_divergence)},
          {"groups_differing", run.groups ? Value(run.groups->differing) : Value()},
          {"mb_stats_differing",
           run.kernel_stats ? Value(std::uint64_t{run.kernel_stats->differing.size()}) : Value()}};
}

}  // namespace

void add_names(FigureNames& names, const std::string& prefix, Reporter reporter) {
  for (const results::Row& row : results::rows(reporter)) names.figures.push_back(prefix + row.key);
}

FigureNames replay_names(const RunSpec& spec) {
  FigureNames out;
  out.word = "policy";
  for (const std::string side : {"", "base:"}) {
    add_names(out, side, Reporter::replay);
    for (const unsigned writers : spec.writers)
      add_names(out, side + writers_prefix(writers), Reporter::writers);
  }
  add_names(out, "recorded:", Reporter::replay);
  add_names(out, "start:", Reporter::replay);
  for (const allocator::Policy* policy : spec.policies) out.cases.emplace_back(policy->name);
  return out;
}

FigureNames verify_names() {
  FigureNames out;
  out.word = "policy";
  add_names(out, "", Reporter::replay);
  for (const NamedValue& one : agreement_values({}))
    out.figures.push_back(fmt::format("agreement/{}", one.key));
  return out;
}

Status check_conditions(std::span<const std::string> conditions, const FigureNames& names) {
  for (const std::string& text : conditions)
    if (const auto condition = parse(text, names); !condition.ok()) return condition.error();
  return {};
}

Result<std::string> find_failure(std::span<const std::string> conditions, const FigureNames& names,
                                 std::span<const FigureCase> cases) {
  for (const std::string& text : conditions) {
    E4R_TRY(const Condition condition, parse(text, names));
    const FigureCase* first = nullptr;
    std::size_t holding = 0, known = 0;
    for (const FigureCase& one : cases) {
      const std::optional<bool> answer = holds(condition, one);
      known += answer ? 1 : 0;
      if (!answer.value_or(false)) continue;
      if (first == nullptr) first = &one;
      ++holding;
    }
    if (first != nullptr)
      return fmt::format("--fail-if '{}' holds {}{}", printable(text, kLongestCondition),
                         tell(condition, names, *first),
                         holding == 1 ? "" : fmt::format(" (and for {} more)", holding - 1));
    if (known > 0 || cases.empty()) continue;
    const std::string absent = absent_figures(condition, names, cases);
    return error("--fail-if '{}' cannot be answered: there is no {} here",
                 printable(text, kLongestCondition),
                 absent.empty() ? "case with all its figures" : absent);
  }
  return std::string();
}

Result<std::string> find_replay_failure(std::span<const std::string> conditions,
                                        const RunSpec& spec, const report::ReplayReport& report) {
  FigureNames names = replay_names(spec);
  names.cases.clear();
  std::vector<Value> others;  // figures of the first policy, the recorded kernel and the start
  add_policy_values(others, report.runs.front(), spec);
  add_values(others, report.kernel && report.kernel->run ? &*report.kernel->run : nullptr,
             Reporter::replay);
  for (const results::Row& row : results::rows(Reporter::replay))
    others.push_back(row.start ? row.of(report.start) : Value());
  std::vector<FigureCase> cases;
  for (const results::Outcome& run : report.runs) {
    FigureCase& one = cases.emplace_back();
    one.name = run.policy->name;
    names.cases.push_back(one.name);
    add_policy_values(one.figures, run, spec);
    one.figures.insert(one.figures.end(), others.begin(), others.end());
  }
  return find_failure(conditions, names, cases);
}

Result<std::string> find_verify_failure(std::span<const std::string> conditions,
                                        const report::ReplayReport& report) {
  const results::Outcome& run = report.runs.front();
  FigureNames names = verify_names();
  FigureCase one;
  one.name = run.policy->name;
  names.cases = {one.name};
  add_values(one.figures, &run, Reporter::replay);
  for (const NamedValue& agreement : agreement_values(run)) one.figures.push_back(agreement.value);
  return find_failure(conditions, names, {&one, 1});
}

}  // namespace e4r::app
