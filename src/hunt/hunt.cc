// SPDX-License-Identifier: GPL-2.0-or-later
#include "hunt/hunt.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <sstream>

#include "hunt/trial.h"
#include "json/text.h"
#include "review/review.h"
#include "review/words.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::hunt {
namespace {

std::vector<CaseParameter> choices_of(const Space& space, const Levels& levels) {
  std::vector<CaseParameter> out;
  for (std::size_t i = 0; i < levels.size(); ++i)
    out.push_back({space.parameters()[i].name, space.text(i, levels[i]), levels[i] == 0});
  return out;
}

}  // namespace

std::string times_text(const Trial* trial) {
  if (trial == nullptr || trial->score <= 0) return "no worse";
  if (!trial->failed[1].empty()) return "its kernel fails";
  if (!std::isinf(trial->times())) return fmt::format("{:.4g} times", trial->times());
  return trial->higher_is_better ? "nothing is left" : "new";
}

Result<Space> space_of(const HuntOptions& options) {
  return options.start.empty() ? Space::create(options.largest, options.tunables)
                               : Space::on_one_start(options.tunables);
}

Result<Hunt> hunt(const HuntOptions& options, ImageMaker make, const app::Listener& listener) {
  using Clock = std::chrono::steady_clock;
  SearchOptions wanted = options.search;
  const Stoppable stoppable(stop_of(wanted));
  Clock::time_point end = Clock::now() + options.most * 3 / 4;
  if (options.most.count() > 0) wanted.enough = [&end] { return Clock::now() >= end; };
  E4R_TRY(const Space space, space_of(options));
  Starts starts(std::move(make));
  if (!options.start.empty())
    E4R_CHECK(starts.use(options.start, options.search.threads, listener));
  Hunt out;
  out.search = options.search;
  out.start = options.start;
  E4R_TRY(out.found, search(space, starts, wanted, [&](std::uint64_t trials, const Trial* worst) {
            listener.progress.show(fmt::format("{} of {} trials, worst: {}", format_count(trials),
                                               format_count(wanted.trials), times_text(worst)));
          }));
  if (!out.found.best) return out;
  end += options.most - options.most * 3 / 4;
  E4R_TRY(out.shrunk,
          shrink(space, starts, wanted, *out.found.best, options.shrink_trials,
                 [&](std::uint64_t trials, const Trial* now) {
                   listener.progress.show(fmt::format("making it smaller: {} trials, {}",
                                                      format_count(trials), times_text(now)));
                 }));
  out.choices = choices_of(space, out.shrunk->levels);
  const Scene& scene = out.shrunk->scene;
  const Trial& trial = out.shrunk->trial;
  if (!trial.has_failed()) out.figures = review::figures_of(trial.base, trial.with);
  E4R_TRY(out.events,
          write_case(scene, wanted.base, {options.program, options.command}, options.output));
  E4R_TRY(out.replayed, replay_case(options.output.path(), wanted, listener));
  return out;
}

namespace {

namespace json = boost::json;

json::object values_json(const Trial& trial) {
  json::object out = {
      {"base", nullptr}, {"with", nullptr}, {"times", nullptr}, {"failed", nullptr}};
  for (const std::string& failed : trial.failed)
    if (!failed.empty()) out["failed"] = failed;
  if (trial.has_failed() || trial.alike) return out;
  out["base"] = trial.base_value;
  out["with"] = trial.with_value;
  if (std::isfinite(trial.times())) out["times"] = trial.times();
  return out;
}

json::value explained_json(const ExplainedDecision& one) {
  if (one.decision == 0) return nullptr;
  return json::object{{"decision", one.decision}, {"base", one.by[0]}, {"with", one.by[1]}};
}

json::object capture_json(const Hunt& hunt, const HuntOrigin& origin) {
  return {{"file", origin.output},
          {"events", hunt.events},
          {"decisions", hunt.replayed.decisions},
          {"followed", hunt.replayed.followed},
          {"objective", values_json(hunt.replayed.trial)},
          {"first_difference", explained_json(hunt.replayed.parting)},
          {"dearest", explained_json(hunt.replayed.costliest)}};
}

json::object case_json(const Hunt& hunt) {
  const Trial& trial = hunt.shrunk->trial;
  json::object parameters, needed;
  for (const CaseParameter& choice : hunt.choices)
    (choice.plain ? parameters : needed)[choice.name] = choice.text;
  json::array operations, figures;
  for (const age::Operation& operation : hunt.shrunk->scene.operations)
    operations.push_back(json::value(age::text_of(operation)));
  for (const review::Figure& figure : hunt.figures) figures.push_back(review::figure_json(figure));
  return {{"objective", values_json(trial)},     {"needed", std::move(needed)},
          {"plain", std::move(parameters)},      {"requests", trial.base.tally.requests},
          {"operations", std::move(operations)}, {"figures", std::move(figures)}};
}

}  // namespace

std::string hunt_json(const Hunt& hunt, const HuntOrigin& origin) {
  const SearchTally& tally = hunt.found.tally;
  json::object doc;
  doc["schema"] = "e4replay-hunt/1";
  doc["program"] = origin.program;
  doc["command"] = origin.command;
  doc["base"] = review::side_json(hunt.search.base);
  doc["with"] = review::side_json(hunt.search.with);
  doc["start"] = hunt.start.empty() ? json::value() : json::value(hunt.start);
  doc["objective"] = hunt.search.objective->key;
  doc["seed"] = hunt.search.seed;
  doc["trials"] = json::object{{"all", tally.trials},
                               {"worse", tally.worse},
                               {"better", tally.better},
                               {"impossible", tally.impossible},
                               {"alike", tally.alike},
                               {"failed_base", tally.failed[0]},
                               {"failed_with", tally.failed[1]},
                               {"shrinking", hunt.shrunk ? hunt.shrunk->trials : 0}};
  doc["found"] = nullptr;
  doc["case"] = nullptr;
  doc["capture"] = nullptr;
  if (hunt.shrunk) {
    const Trial& best = hunt.found.best->trial;
    doc["found"] = values_json(best);
    doc["case"] = case_json(hunt);
    doc["capture"] = capture_json(hunt, origin);
  }
  return json_text(doc);
}

namespace {

std::string number_text(double value) {
  if (value != std::floor(value)) return fmt::format("{:.2f}", value);
  return format_count(static_cast<std::uint64_t>(value));
}

// Describes how a kernel failed, in one line with control characters escaped; empty if no kernel
// failed.
std::string failure_text(const Trial& trial) {
  return escape(trial.failed[0].empty() ? trial.failed[1] : trial.failed[0]);
}

std::string values_text(const Trial& trial) {
  if (trial.has_failed()) return failure_text(trial);
  if (trial.alike) return "the decisions are the same: there are no times to compare";
  return fmt::format("{} to {}, {}", number_text(trial.base_value), number_text(trial.with_value),
                     times_text(&trial));
}

std::string choices_text(const Hunt& hunt, bool plain) {
  std::string out;
  for (const CaseParameter& choice : hunt.choices) {
    if (choice.plain != plain) continue;
    const bool tunable = choice.text.starts_with(choice.name);
    if (!out.empty()) out += "; ";
    out += tunable ? choice.text : fmt::format("{}: {}", choice.name, choice.text);
  }
  return out.empty() ? "nothing" : out;
}

std::string searched_text(const Hunt& hunt) {
  const SearchTally& tally = hunt.found.tally;
  std::string out =
      fmt::format("searched  {} trials, seed {}: {} worse, {} better, {} impossible\n",
                  format_count(tally.trials), hunt.search.seed, format_count(tally.worse),
                  format_count(tally.better), format_count(tally.impossible));
  if (tally.alike > 0)
    out += fmt::format("same      {}: decided the same, so there are no times to compare\n",
                       format_count(tally.alike));
  if (tally.failed[1] > 0)
    out += fmt::format("failed    {} in {}; a failure counts as the worst case\n",
                       hunt.search.with.policy->name, format_count(tally.failed[1]));
  if (tally.failed[0] > 0)
    out += fmt::format("failed    {} in {}, which say nothing about the other policy: {}\n",
                       hunt.search.base.policy->name, format_count(tally.failed[0]),
                       escape(tally.base_failure));
  return out;
}

std::string figures_text(const Hunt& hunt) {
  TextTable table;
  table.row({"", std::string(hunt.search.base.policy->name),
             std::string(hunt.search.with.policy->name), "change"});
  table.rule();
  for (const review::Figure& figure : hunt.figures)
    table.row({figure.row->label, results::text_of(figure.base), results::text_of(figure.with),
               results::change_text(figure.base, figure.with)});
  return table.text();
}

std::string followed_text(const Replayed& replayed) {
  const std::string all = fmt::format("{} decisions", format_count(replayed.decisions));
  if (replayed.followed == replayed.decisions) return "the model follows all of its " + all;
  return fmt::format("the model follows {} of its {}", format_count(replayed.followed), all);
}

// Reduces repetitions of one or two lines to one copy, because a group that is tried repeatedly
// would fill pages.
std::string without_repeats(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  std::string out;
  for (std::size_t at = 0; at < lines.size();) {
    std::size_t period = 0, again = 0;
    for (std::size_t length = 1; length <= 2 && again == 0; ++length) {
      period = length;
      while (at + (again + 2) * length <= lines.size() &&
             std::equal(lines.begin() + static_cast<std::ptrdiff_t>(at),
                        lines.begin() + static_cast<std::ptrdiff_t>(at + length),
                        lines.begin() + static_cast<std::ptrdiff_t>(at + (again + 1) * length)))
        ++again;
    }
    for (std::size_t i = 0; i < period; ++i)
      if (again > 0 || i == 0) out += lines[at + i] + "\n";
    if (again > 0) out += fmt::format("    the same {} times more\n", format_count(again));
    at += again > 0 ? period * (again + 1) : 1;
  }
  return out;
}

// Describes how each policy made the decision.
std::string explained_text(const Hunt& hunt, const ExplainedDecision& one) {
  const std::string_view names[] = {hunt.search.base.policy->name, hunt.search.with.policy->name};
  std::string out;
  for (std::size_t i = 0; i < one.by.size(); ++i)
    out += fmt::format("\n{}:\n{}", names[i],
                       one.by[i].empty() ? "  made no such request\n" : without_repeats(one.by[i]));
  return out;
}

std::string parting_text(const Hunt& hunt) {
  const ExplainedDecision &parting = hunt.replayed.parting, &costliest = hunt.replayed.costliest;
  if (parting.decision == 0 && costliest.decision == 0) return {};
  std::string out;
  if (parting.decision == 0)
    out += "diverges  nowhere: they find the same places\n";
  else
    out += fmt::format("diverges  at decision {}, the first for which they find different places\n",
                       format_count(parting.decision)) +
           explained_text(hunt, parting);
  if (costliest.decision != 0 && costliest.decision != parting.decision)
    out += fmt::format("\ncostliest decision {}, on which {} spends most steps\n",
                       format_count(costliest.decision), hunt.search.with.policy->name) +
           explained_text(hunt, costliest);
  return out;
}

}  // namespace

std::string hunt_text(const Hunt& hunt, const HuntOrigin& origin) {
  const SearchOptions& search = hunt.search;
  std::string out = fmt::format("e4replay hunt: {}, {} against {}\n\n", search.objective->label,
                                review::side_text(search.with), review::side_text(search.base));
  if (!hunt.start.empty()) out += fmt::format("start     {}\n", escape(hunt.start));
  out += searched_text(hunt);
  if (!hunt.shrunk) return out + "found     nothing in which it is worse\n";
  const Trial& found = hunt.found.best->trial;
  const Trial& small = hunt.shrunk->trial;
  out += fmt::format("found     {}\n", values_text(found));
  out += fmt::format("smaller   {}, by {} trials; {} operations, {} requests\n", values_text(small),
                     format_count(hunt.shrunk->trials),
                     format_count(hunt.shrunk->scene.operations.size()),
                     format_count(small.base.tally.requests));
  out += fmt::format("it takes  {}\n", choices_text(hunt, false));
  out += fmt::format("default   {}\n\n", choices_text(hunt, true));
  if (!hunt.figures.empty()) out += figures_text(hunt) + "\n";
  out += fmt::format("capture   {}: {} events; {}\n", escape(origin.output),
                     format_count(hunt.events), followed_text(hunt.replayed));
  out += fmt::format("replayed  {}\n", values_text(hunt.replayed.trial));
  return out + parting_text(hunt);
}

}  // namespace e4r::hunt
