// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/inputs.h"
#include "replay/session.h"
#include "report/replay_report.h"

namespace e4r::app {

// A recording that is followed once and replayed any number of times. The points of a sweep share
// it.
class Followed {
 public:
  // `options` and `inputs` must outlive the object. `session` comes from session_options().
  Followed(const InputOptions& options, const Inputs& inputs, replay::SessionOptions session);

  // Follows the recorded kernel; must come before any replay. Fails as check_fidelity() does,
  // unless `force`. Warns of consequences for the policies.
  [[nodiscard]] Status follow(bool force, std::span<const allocator::Policy* const> policies,
                              const Listener& listener);

  // One replay, under the recorded tunables with the settings. May be called from several threads
  // at once. `decided` is called as a Setup's is. Errors: an invalid setting; a kernel that ended;
  // "stopped".
  [[nodiscard]] Result<results::Outcome> run(const allocator::Policy& policy,
                                             const std::vector<std::string>& settings,
                                             replay::DecisionWatch decided = nullptr) const;

  [[nodiscard]] const replay::Session& session() const { return session_; }
  // The head of the report: image, trace, and how far the model follows.
  [[nodiscard]] const report::ReplayReport& report() const { return report_; }

 private:
  const InputOptions& options_;
  const Inputs& inputs_;
  replay::Session session_;
  report::ReplayReport report_;
};

}  // namespace e4r::app
