// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/setups.h"
#include "report/replay_report.h"
#include "results/rows.h"
#include "util/status.h"

// Conditions of --fail-if (util/condition.h). If one holds, a command exits with a distinct status.
// A figure is named by the key of its row. A prefix "base:", "recorded:" or "start:" selects the
// figure of the first policy, the recorded kernel or the start.
namespace e4r::app {

// The names that conditions may use.
struct FigureNames {
  std::vector<std::string> figures;
  std::string word;                // the kind of the cases: "policy" or "capture"
  std::vector<std::string> cases;  // names of the cases; empty: all policies
};

// An object to which conditions are applied: a policy of a replay, or a capture of a review.
struct FigureCase {
  std::string name;
  std::vector<results::Value> figures;  // in the order of the names
};

// Adds the keys of the reporter's rows, with the prefix.
void add_names(FigureNames& names, const std::string& prefix, results::Reporter reporter);

// The names available to conditions on a replay. The replay need not have run.
[[nodiscard]] FigureNames replay_names(const RunSpec& spec);
// The names available to conditions on a verification.
[[nodiscard]] FigureNames verify_names();

// Checks the syntax and the names of conditions. The Error, a usage error, names the wrong
// condition and the position.
[[nodiscard]] Status check_conditions(std::span<const std::string> conditions,
                                      const FigureNames& names);

// Returns a line that says which condition holds, for which case, and with which figures; empty if
// no condition holds. Error: a condition depends on figures that no case has.
[[nodiscard]] Result<std::string> find_failure(std::span<const std::string> conditions,
                                               const FigureNames& names,
                                               std::span<const FigureCase> cases);

// Like find_failure(), for the results of a replay or a verification.
[[nodiscard]] Result<std::string> find_replay_failure(std::span<const std::string> conditions,
                                                      const RunSpec& spec,
                                                      const report::ReplayReport& report);
[[nodiscard]] Result<std::string> find_verify_failure(std::span<const std::string> conditions,
                                                      const report::ReplayReport& report);

}  // namespace e4r::app
