// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "app/inputs.h"
#include "replay/session.h"
#include "report/replay_report.h"

// The trustworthiness of a replay: how far the model follows the recorded kernel. Shared by single
// replays and sweeps.
namespace e4r::app {

// Fails if the model does not follow the recorded kernel, or if that cannot be determined. The
// Error names the first divergence, possible causes, and --force. `report` holds the findings of
// Session::follow_recorded.
[[nodiscard]] Status check_fidelity(const report::ReplayReport& report, const InputOptions& options,
                                    const Inputs& inputs);

// Warns if an answer is less reliable than it seems.
void warn_of_fidelity(const report::ReplayReport& report, const Listener& listener);

// Follows the recorded kernel and puts the findings into the report: agreement, policy, warm start,
// contradictions. Afterwards the session knows the inputs of each decision. Returns the run, which
// ends with the file system as the recorded kernel left it.
[[nodiscard]] Result<replay::Run> follow_into(replay::Session& session, replay::Setup recorded,
                                              report::ReplayReport& report);

}  // namespace e4r::app
