// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <vector>

#include "app/inputs.h"
#include "app/many_writers.h"
#include "replay/decision_rows.h"
#include "replay/session.h"
#include "report/replay_report.h"
#include "stats/space_history.h"

// What `e4replay replay` answers: what other policies would have made of a trace.
namespace e4r::app {

struct ComparisonOptions {
  std::vector<const allocator::Policy*> policies;  // empty: the recorded one and its neighbours
  bool force = false;             // answer although the model does not follow the recorded kernel
  bool first_difference = false;  // find where each policy parts from the first one
  bool for_page = false;          // history of free space, and the slowest decisions explained
  bool rows = false;              // keep what is told of each request
  WriterOptions writers;          // whom to simulate
  std::size_t files = 0;          // how many of the files with most extents to name
  bool spaces = false;            // keep free space in the course of the runs (Comparison::spaces)
};

struct Comparison {
  report::ReplayReport report;
  std::vector<replay::Run> runs;  // in the order of the policies; the engines as they ended
  replay::DecisionRows recorded;  // the recorded kernel's; those of a run are Engine::rows()
  // Of the recorded kernel, then of each run, in up to 256 steps; empty unless asked for.
  std::vector<stats::SpaceHistory> spaces;
};

// Follows the recorded kernel, and then replays under each policy. `inputs` must outlive the runs.
// Errors: those of check_fidelity() unless `force`; a setting that is none; a decision to explain
// that there is not; a kernel that ended.
[[nodiscard]] Result<Comparison> compare(const InputOptions& options,
                                         const ComparisonOptions& wanted, const Inputs& inputs,
                                         const Listener& listener);

}  // namespace e4r::app
