// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "allocator/policy.h"
#include "sweep/store.h"
#include "util/parallel.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::sweep {
namespace {

constexpr std::size_t kLongestNamed = 4096;

std::string list_names(const std::vector<std::string_view>& names) {
  std::string out;
  for (const std::string_view name : names)
    out += (out.empty() ? "" : ", ") + printable(name, kLongestNamed);
  return out;
}

Result<std::string> find_text(std::string_view what, std::string_view wanted,
                              const std::vector<std::string_view>& known) {
  if (std::ranges::find(known, wanted) != known.end()) return std::string(wanted);
  return error("no {} '{}' in this sweep: it has {}", what, printable(wanted), list_names(known));
}

ConditionNames names_of(const Vocabulary& known) {
  ConditionNames out;
  out.words = {{"policy",
                [&known](std::string_view written) {
                  const allocator::Policy* alias = allocator::find_policy(written);
                  return find_text("policy", alias ? alias->name : written, known.policies);
                }},
               {"capture", [&known](std::string_view written) {
                  return find_text("capture", written, known.captures);
                }}};
  out.figure = [&known](std::string_view name) -> Result<std::size_t> {
    const auto found = std::ranges::find(known.tunables, name);
    if (found != known.tunables.end())
      return static_cast<std::size_t>(found - known.tunables.begin());
    return error("'{}' is neither a number nor a tunable set with --set{}", printable(name),
                 known.tunables.empty() ? std::string(": it gives none")
                                        : ": it gives " + list_names(known.tunables));
  };
  return out;
}

}  // namespace

Result<Where> Where::parse(std::string_view text, const Vocabulary& vocabulary) {
  Where out;
  E4R_TRY(out.condition_, Condition::parse(text, names_of(vocabulary)));
  return out;
}

bool Where::holds(const Combination& point) const {
  const Condition::Case one = {[&point](std::size_t index) -> std::optional<Condition::Number> {
                                 return point.values[index];
                               },
                               {point.policy, point.capture}};
  return condition_.holds(one).value_or(false);
}

namespace {

constexpr std::size_t kLongestName = 4096;

// Adds one part of a list: "7", "1..9" or "1..9:2".
Status add_values(std::string_view part, Axis& axis) {
  const std::string_view name = axis.tunable->name;
  const auto dots = part.find("..");
  if (dots == std::string_view::npos) {
    const auto value = parse_u64(part);
    if (!value.ok()) return error("{}: {}", name, value.error().message);
    axis.values.push_back(*value);
    return {};
  }
  const std::string_view behind = part.substr(dots + 2);
  const auto colon = behind.find(':');
  const auto from = parse_u64(part.substr(0, dots));
  const auto to = parse_u64(behind.substr(0, colon));
  const auto step = parse_u64(colon == std::string_view::npos ? "1" : behind.substr(colon + 1));
  if (!from.ok() || !to.ok() || !step.ok())
    return error("{}: '{}' is not a range: give A..B or A..B:STEP", name, printable(part));
  if (*step == 0) return error("{}: '{}': a step must not be 0", name, part);
  if (*from > *to) return error("{}: '{}' runs backwards: give {}..{}", name, part, *to, *from);
  if ((*to - *from) / *step >= kMostCombinations)
    return error("{}: '{}' has more than {} values", name, part, format_count(kMostCombinations));
  for (std::uint64_t value = *from;; value += *step) {
    axis.values.push_back(value);
    if (*to - value < *step) return {};
  }
}

Status check_values(const Axis& axis) {
  std::set<std::uint64_t> seen;
  for (const std::uint64_t value : axis.values) {
    E4R_CHECK(allocator::check_value(*axis.tunable, value));
    if (!seen.insert(value).second)
      return error("{}: {} is given twice", axis.tunable->name, value);
  }
  return {};
}

// Returns the first element that equals an earlier one, or the end.
template <class List, class Of>
auto find_repeated(const List& list, Of of) {
  for (auto it = list.begin(); it != list.end(); ++it)
    if (std::any_of(list.begin(), it, [&](const auto& before) { return of(before) == of(*it); }))
      return it;
  return list.end();
}

Status check_spec(const PlanSpec& spec) {
  if (spec.captures.empty()) return error("no capture to replay");
  if (spec.policies.empty()) return error("no policy to replay under");
  if (const auto it = find_repeated(spec.captures, [](const auto& c) { return c; });
      it != spec.captures.end())
    return error("{} is given twice", printable(*it, kLongestName));
  if (const auto it = find_repeated(spec.policies, [](const auto* p) { return p; });
      it != spec.policies.end())
    return error("policy {} is given twice", (*it)->name);
  if (const auto it = find_repeated(spec.axes, [](const Axis& a) { return a.tunable; });
      it != spec.axes.end())
    return error("--set {} is given twice: give all its values in one", it->tunable->name);
  return {};
}

Result<std::uint64_t> count_combinations(const PlanSpec& spec) {
  std::uint64_t count = 1;
  const auto times = [&count](std::size_t n) {
    count *= n;
    return count <= kMostCombinations;
  };
  bool fits = times(spec.captures.size()) && times(spec.policies.size());
  for (const Axis& axis : spec.axes) fits = fits && times(axis.values.size());
  if (!fits)
    return error("more than {} combinations: give fewer values, or several sweeps",
                 format_count(kMostCombinations));
  return count;
}

Vocabulary vocabulary_of(const PlanSpec& spec) {
  Vocabulary out;
  for (const Axis& axis : spec.axes) out.tunables.push_back(axis.tunable->name);
  for (const allocator::Policy* policy : spec.policies) out.policies.push_back(policy->name);
  for (const std::string& capture : spec.captures) out.captures.push_back(capture);
  return out;
}

// Moves to the next combination of values; the last axis changes fastest. Returns false after the
// last one.
bool advance(const std::vector<Axis>& axes, std::vector<std::size_t>& at) {
  for (std::size_t i = axes.size(); i-- > 0;) {
    if (++at[i] < axes[i].values.size()) return true;
    at[i] = 0;
  }
  return false;
}

// Adds all combinations for one policy on one capture.
void add_points(const Where& where, std::uint32_t capture, const allocator::Policy& policy,
                Plan& plan) {
  const std::vector<Axis>& axes = plan.spec.axes;
  std::vector<std::size_t> at(axes.size());
  std::vector<std::uint64_t> values(axes.size());
  std::set<std::vector<std::optional<std::uint64_t>>> seen;
  do {
    for (std::size_t i = 0; i < axes.size(); ++i) values[i] = axes[i].values[at[i]];
    if (!where.holds({values, policy.name, plan.spec.captures[capture]})) {
      ++plan.rejected;
      continue;
    }
    Point point = {capture, &policy, {}};
    for (std::size_t i = 0; i < axes.size(); ++i)
      point.values.push_back(allocator::has_tunable(policy, *axes[i].tunable)
                                 ? std::optional(values[i])
                                 : std::nullopt);
    if (seen.insert(point.values).second)
      plan.points.push_back(std::move(point));
    else
      ++plan.merged;
  } while (advance(axes, at));
}

}  // namespace

Result<Axis> parse_axis(std::string_view text) {
  const auto equals = text.find('=');
  // Lets the parser of single settings report an unknown name.
  allocator::Tunables scratch;
  const std::string probe = equals == std::string_view::npos
                                ? std::string(text)
                                : std::string(text.substr(0, equals)) + "=0";
  E4R_CHECK(allocator::set_tunable(scratch, probe));
  Axis axis;
  axis.tunable = allocator::find_tunable(text.substr(0, equals));
  std::string_view rest = text.substr(equals + 1);
  for (bool more = true; more;) {
    const auto comma = rest.find(',');
    E4R_CHECK(add_values(rest.substr(0, comma), axis));
    if (axis.values.size() > kMostCombinations)
      return error("{}: more than {} values", axis.tunable->name, format_count(kMostCombinations));
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
  }
  E4R_CHECK(check_values(axis));
  return axis;
}

allocator::Tunables Plan::tunables(const Point& point, const allocator::Tunables& recorded) const {
  allocator::Tunables out = recorded;
  for (std::size_t i = 0; i < spec.axes.size(); ++i)
    if (point.values[i]) out.*(spec.axes[i].tunable->member) = *point.values[i];
  return out;
}

Result<Plan> make_plan(PlanSpec spec) {
  E4R_CHECK(check_spec(spec));
  Plan plan;
  plan.spec = std::move(spec);
  E4R_TRY(plan.combinations, count_combinations(plan.spec));
  const Vocabulary vocabulary = vocabulary_of(plan.spec);
  auto where = Where::parse(plan.spec.where, vocabulary);
  if (!where.ok()) return error("--where: {}", where.error().message);
  for (std::uint32_t capture = 0; capture < plan.spec.captures.size(); ++capture)
    for (const allocator::Policy* policy : plan.spec.policies)
      add_points(*where, capture, *policy, plan);
  if (plan.points.empty())
    return error("--where: none of {} combinations meets it", format_count(plan.combinations));
  return plan;
}

Changes changes(const Plan& plan, std::size_t index) {
  const Point& point = plan.points[index];
  const allocator::Tunables defaults;
  const allocator::Tunables& recorded = point.capture < plan.recorded_by_capture.size()
                                            ? plan.recorded_by_capture[point.capture]
                                            : defaults;
  Changes out;
  out.index = index;
  for (std::size_t i = 0; i < point.values.size(); ++i) {
    if (!point.values[i]) continue;
    const allocator::TunableInfo& tunable = *plan.spec.axes[i].tunable;
    if (*point.values[i] != value_of(recorded, tunable)) ++out.of_recorded;
    if (*point.values[i] != value_of(defaults, tunable)) ++out.of_default;
  }
  return out;
}

std::string settings_text(const Plan& plan, const Point& point) {
  std::string out;
  for (std::size_t i = 0; i < plan.spec.axes.size(); ++i)
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", plan.spec.axes[i].tunable->name,
                       point.values[i] ? std::to_string(*point.values[i]) : "-");
  return out;
}

namespace {

// Points of one capture, and the setup of each point's replay.
struct Batch {
  const Subject* subject = nullptr;
  std::vector<std::size_t> points;
  std::vector<replay::Setup> setups;
};

// Returns the points in order, in batches as large as the number of points that a thread runs at a
// time.
std::vector<Batch> batches_of(const Work& work, unsigned threads) {
  std::vector<Batch> wholes(work.subjects.size());
  for (const std::size_t index : work.points) {
    const Point& point = work.plan.points[index];
    Batch& whole = wholes[point.capture];
    whole.subject = &work.subjects[point.capture];
    whole.points.push_back(index);
    whole.setups.push_back(
        whole.subject->setup(*point.policy, work.plan.tunables(point, whole.subject->recorded)));
  }
  std::vector<Batch> out;
  for (Batch& whole : wholes) {
    if (whole.points.empty()) continue;
    const std::size_t size = whole.subject->session->in_lockstep(whole.setups, threads);
    for (std::size_t from = 0; from < whole.points.size(); from += size) {
      const std::size_t to = std::min(from + size, whole.points.size());
      Batch& part = out.emplace_back();
      part.subject = whole.subject;
      part.points.assign(&whole.points[from], &whole.points[to]);
      std::move(&whole.setups[from], &whole.setups[to], std::back_inserter(part.setups));
    }
  }
  return out;
}

}  // namespace

Status run_points(const Work& work,
                  const std::function<Status(std::size_t index, std::string line)>& done) {
  std::mutex mutex;
  Status first;  // the first failure
  std::atomic<bool> failed = false;
  const unsigned threads = thread_count(work.threads);
  const std::vector<Batch> batches = batches_of(work, threads);
  const auto run = [&](const Batch& batch) -> Status {
    std::vector<Result<replay::Run>> runs =
        batch.subject->session->what_if_in_lockstep(batch.setups);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      E4R_TRY(const replay::Run one, std::move(runs[i]));
      const std::size_t index = batch.points[i];
      E4R_CHECK(done(index,
                     point_line(work.plan, index, results::outcome_of(one), batch.subject->doubt)));
    }
    return {};
  };
  parallel_for(threads, batches.size(), [&](std::size_t i) {
    if (failed || (work.stop != nullptr && *work.stop)) return;
    Status status = run(batches[i]);
    if (status.ok()) return;
    const std::lock_guard lock(mutex);
    if (!failed.exchange(true)) first = std::move(status);
  });
  return first;
}

}  // namespace e4r::sweep
