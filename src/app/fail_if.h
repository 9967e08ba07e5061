// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/run_spec.h"
#include "report/replay_report.h"
#include "results/rows.h"
#include "util/status.h"

// Conditions of --fail-if (util/condition.h). If one holds, a command ends with a status of its
// own. A figure has the key of its row. "base:", "recorded:" or "start:" in front of the key names
// whose figure it is.
namespace e4r::app {

// What conditions may name.
struct FigureNames {
  std::vector<std::string> figures;
  std::string word;                // "policy" or "capture": what the names of the cases are
  std::vector<std::string> cases;  // their names; empty: all policies that e4replay knows
};

// What conditions are applied to: a policy of a replay, or a capture of a review.
struct FigureCase {
  std::string name;
  std::vector<results::Value> figures;  // in the order of the names
};

// Adds the keys of the teller's rows, with the prefix.
void add_names(FigureNames& names, const std::string& prefix, results::Teller teller);

// The names that conditions on a replay have, before it has run.
[[nodiscard]] FigureNames replay_names(const RunSpec& spec);
// Those that conditions on a verification have.
[[nodiscard]] FigureNames verify_names();

// Says which condition is wrong, and where. The Error is one of usage.
[[nodiscard]] Status check_conditions(std::span<const std::string> conditions,
                                      const FigureNames& names);

// The line that says which condition holds, for which case, and with which figures. Empty if no
// condition holds. The Error: a condition depends on figures that no case has.
[[nodiscard]] Result<std::string> find_failure(std::span<const std::string> conditions,
                                               const FigureNames& names,
                                               std::span<const FigureCase> cases);

// The same for what a replay or a verification came to.
[[nodiscard]] Result<std::string> find_replay_failure(std::span<const std::string> conditions,
                                                      const RunSpec& spec,
                                                      const report::ReplayReport& report);
[[nodiscard]] Result<std::string> find_verify_failure(std::span<const std::string> conditions,
                                                      const report::ReplayReport& report);

}  // namespace e4r::app
