// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/inputs.h"
#include "replay/session.h"
#include "report/replay_report.h"

namespace e4r::app {

// A recording that is followed once, and replayed as often as one likes: what the points of a sweep
// share.
class Followed {
 public:
  // `options` and `inputs` must outlive the object. `session`: as session_options() makes them.
  Followed(const InputOptions& options, const Inputs& inputs, replay::SessionOptions session);

  // Follows the recorded kernel, before any replay. The Error is check_fidelity()'s unless `force`.
  // Warns of what it means for the policies.
  [[nodiscard]] Status follow(bool force, std::span<const allocator::Policy* const> policies,
                              const Listener& listener);

  // One replay, under the recorded tunables with the settings. May be called from several threads
  // at once. `decided` is called as a Setup's is. Errors: a setting that is none; a kernel that
  // ended; "stopped".
  [[nodiscard]] Result<results::Outcome> run(const allocator::Policy& policy,
                                             const std::vector<std::string>& settings,
                                             replay::DecisionWatch decided = nullptr) const;

  [[nodiscard]] const replay::Session& session() const { return session_; }
  // Its head: image, trace, and how far the model follows.
  [[nodiscard]] const report::ReplayReport& report() const { return report_; }

 private:
  const InputOptions& options_;
  const Inputs& inputs_;
  replay::Session session_;
  report::ReplayReport report_;
};

}  // namespace e4r::app
