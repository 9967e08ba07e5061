// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/inputs.h"
#include "app/setups.h"
#include "replay/session.h"
#include "report/replay_report.h"

// The reliability of a replay: how closely the model follows the recorded kernel. Shared by single
// replays and sweeps.
namespace e4r::app {

// Fails if the recorded allocator is Lustre's ldiskfs, which no policy models.
[[nodiscard]] Status check_allocator(const Inputs& inputs);

// Fails if check_allocator() fails, if the model does not follow the recorded kernel, or if that
// cannot be determined. The Error names the first divergence, possible causes, and --force.
// `report` holds the findings of Session::follow_recorded.
[[nodiscard]] Status check_fidelity(const report::ReplayReport& report, const Inputs& inputs);

// Warns if a result is less reliable than it seems.
void warn_of_fidelity(const report::ReplayReport& report, const Listener& listener);

// Follows the recorded kernel and puts the findings into the report: agreement, policy, warm start,
// contradictions. Afterwards the session has the inputs of each decision. Returns the run; its
// final state is the file system as the recorded kernel left it.
[[nodiscard]] Result<replay::Run> follow_into(replay::Session& session, replay::Setup recorded,
                                              report::ReplayReport& report);

// Replays under the recorded policy, first in the order that the replay found, and then in 4 to 20
// other orders of overlapping requests (replay::Session::in_other_orders). Empty if no requests
// overlap.
[[nodiscard]] Result<std::vector<results::Outcome>> replay_other_orders(
    const replay::Session& session, const Inputs& inputs, const std::string& recorded_policy,
    unsigned threads);

// A recording that is followed once and replayed any number of times. All points of a sweep share
// it.
class FollowedRecording {
 public:
  // `inputs` must outlive the object. `session` comes from session_options().
  FollowedRecording(const Inputs& inputs, replay::SessionOptions session);

  // Follows the recorded kernel. Must be called before any replay. Fails for the same reasons as
  // check_fidelity(), unless `force`. Warns about what the result means for the policies.
  [[nodiscard]] Status follow(bool force, std::span<const allocator::Policy* const> policies,
                              const Listener& listener);

  // Runs one replay, under the recorded tunables changed by the settings. Several threads may call
  // it at once. `decided`, which may be empty, is called for each decision (replay::DecisionWatch).
  // Errors: an invalid setting; a kernel that ended; "stopped".
  [[nodiscard]] Result<results::Outcome> run(
      const allocator::Policy& policy, const std::vector<std::string>& settings,
      const replay::DecisionWatch::Watch& decided = nullptr) const;

  [[nodiscard]] const replay::Session& session() const { return session_; }
  // A report with the image, the trace, and the agreement of the model.
  [[nodiscard]] const report::ReplayReport& report() const { return report_; }

 private:
  const Inputs& inputs_;
  replay::Session session_;
  report::ReplayReport report_;
};

// The use case of `e4replay verify`: checks whether a policy makes the recorded kernel's decisions.

// Follows the recorded kernel, then runs freely, and compares decisions, groups and counters with
// the kernel's, under the recorded tunables changed by the settings. A kernel's code only runs
// freely. Errors: an invalid setting; a trace without closed decisions; unreadable input; a kernel
// that ends.
[[nodiscard]] Result<report::ReplayReport> verify(const RunSpec& spec, const Inputs& inputs,
                                                  const Listener& listener);

}  // namespace e4r::app
