// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/followed.h"

#include "app/fidelity.h"
#include "app/setups.h"

namespace e4r::app {

Followed::Followed(const InputOptions& options, const Inputs& inputs,
                   replay::SessionOptions session)
    : options_(options),
      inputs_(inputs),
      session_(inputs.source, inputs.trace, std::move(session)),
      report_(start_report(options, inputs)) {}

Status Followed::follow(bool force, std::span<const allocator::Policy* const> policies,
                        const Listener& listener) {
  const auto done = follow_into(session_, {nullptr, inputs_.recorded}, report_);
  listener.progress.wipe();
  if (!done.ok()) return done.error();
  if (!force) E4R_CHECK(check_fidelity(report_, options_, inputs_));
  warn_of_fidelity(report_, listener);
  for (const allocator::Policy* policy : policies) warn_of_cold_kernel(*policy, inputs_, listener);
  return {};
}

Result<results::Outcome> Followed::run(const allocator::Policy& policy,
                                       const std::vector<std::string>& settings,
                                       replay::DecisionWatch decided) const {
  replay::Setup setup = make_setup(policy, inputs_.recorded, inputs_);
  setup.keep.decided = std::move(decided);
  E4R_CHECK(apply_settings(setup.tunables, settings));
  E4R_TRY(const replay::Run run, session_.what_if(setup));
  return results::outcome_of(run);
}

}  // namespace e4r::app
