// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <vector>

#include "app/inputs.h"
#include "app/many_writers.h"
#include "replay/decision_rows.h"
#include "replay/session.h"
#include "report/replay_report.h"
#include "stats/space_history.h"

// The use case of `e4replay replay`: what other policies would have done with a trace.
namespace e4r::app {

struct ComparisonOptions {
  std::vector<const allocator::Policy*> policies;  // empty: the recorded one and its neighbours
  bool force = false;             // answer even if the model does not follow the recorded kernel
  bool first_difference = false;  // find where each policy first differs from the first policy
  bool for_page = false;  // record the history of free space and explain the slowest decisions
  bool rows = false;      // keep a row for each request
  WriterOptions writers;  // numbers of writers to simulate
  std::size_t files = 0;  // how many of the most fragmented files to name
  bool spaces = false;    // record free space over the course of the runs (Comparison::spaces)
};

struct Comparison {
  report::ReplayReport report;
  std::vector<replay::Run> runs;  // in the order of the policies; engines in their final state
  replay::DecisionRows recorded;  // of the recorded kernel; for a run see Engine::rows()
  // The history of the recorded kernel, then of each run, in up to 256 steps. Empty unless
  // requested.
  std::vector<stats::SpaceHistory> spaces;
};

// Follows the recorded kernel, then replays under each policy. `inputs` must outlive the runs.
// Fails as check_fidelity() does unless `force`, on an invalid setting, if the decision to explain
// does not exist, or if a kernel ends.
[[nodiscard]] Result<Comparison> compare(const InputOptions& options,
                                         const ComparisonOptions& wanted, const Inputs& inputs,
                                         const Listener& listener);

}  // namespace e4r::app
