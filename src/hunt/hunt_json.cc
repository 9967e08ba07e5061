// SPDX-License-Identifier: GPL-2.0-or-later
#include <boost/json.hpp>
#include <cmath>

#include "hunt/hunt.h"
#include "json/text.h"
#include "review/json_parts.h"

namespace e4r::hunt {
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

json::value told_json(const Told& told) {
  if (told.decision == 0) return nullptr;
  return json::object{{"decision", told.decision}, {"base", told.by[0]}, {"with", told.by[1]}};
}

json::object capture_json(const Hunt& hunt, const Made& made) {
  return {{"file", made.output},
          {"events", hunt.events},
          {"decisions", hunt.replayed.decisions},
          {"followed", hunt.replayed.followed},
          {"objective", values_json(hunt.replayed.trial)},
          {"first_difference", told_json(hunt.replayed.parting)},
          {"dearest", told_json(hunt.replayed.dearest)}};
}

json::object case_json(const Hunt& hunt) {
  const Trial& trial = hunt.shrunk->trial;
  json::object parameters, needed;
  for (const Choice& choice : hunt.choices)
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

std::string hunt_json(const Hunt& hunt, const Made& made) {
  const SearchTally& tally = hunt.found.tally;
  json::object doc;
  doc["schema"] = "e4replay-hunt/1";
  doc["program"] = made.program;
  doc["command"] = made.command;
  doc["base"] = review::side_json(hunt.search.base);
  doc["with"] = review::side_json(hunt.search.with);
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
    doc["capture"] = capture_json(hunt, made);
  }
  return json_text(doc);
}

}  // namespace e4r::hunt
