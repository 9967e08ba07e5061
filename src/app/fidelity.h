// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "app/inputs.h"
#include "replay/session.h"
#include "report/replay_report.h"

// What a replay's answers are worth: how far the model follows the recorded kernel. The same for
// one replay and for a sweep of them.
namespace e4r::app {

// The Error of a model that does not follow the recorded kernel, or cannot be seen to; it names
// the first divergence, what can be at fault, and --force. `report` has what
// Session::follow_recorded found.
[[nodiscard]] Status check_fidelity(const report::ReplayReport& report, const InputOptions& options,
                                    const Inputs& inputs);

// Warns of an answer that is worth less than it seems.
void warn_of_fidelity(const report::ReplayReport& report, const Listener& listener);

// Follows the recorded kernel and puts into the report what that shows: agreement, policy, warm
// start, contradictions. With it the session knows the inputs of each decision. Returns the run, at
// whose end the file system is as the recorded kernel left it.
[[nodiscard]] Result<replay::Run> follow_into(replay::Session& session, replay::Setup recorded,
                                              report::ReplayReport& report);

}  // namespace e4r::app
