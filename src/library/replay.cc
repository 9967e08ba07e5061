// SPDX-License-Identifier: GPL-2.0-or-later
#include <e4replay/replay.h>

#include "app/comparison.h"
#include "app/setups.h"
#include "app/verification.h"
#include "library/data.h"
#include "replay/engine.h"

namespace e4replay {

namespace app = e4r::app;

struct Sweep::Data {
  Data(const Recording& of, Listener user_listener)
      : recording(of),
        listener(std::move(user_listener)),
        hearing(listener),
        followed(
            Access::data(recording)->inputs,
            app::session_options(Access::data(recording)->inputs, hearing.listener().progress)) {}

  Recording recording;
  Listener listener;
  Hearing hearing;
  app::FollowedRecording followed;
};

namespace {

// Returns the run that the options describe, except for its policies.
template <class Options>
app::RunSpec spec_of(const Options& options) {
  app::RunSpec out;
  out.settings = options.settings;
  out.check = options.check;
  out.threads = options.threads;
  return out;
}

}  // namespace

Result<Report> replay(const Recording& recording, const ReplayOptions& options,
                      const Listener& listener) {
  app::RunSpec spec = spec_of(options);
  spec.force = options.force;
  for (const std::string& name : options.policies) {
    E4R_TRY(const e4r::allocator::Policy* policy, app::parse_policy(name));
    spec.policies.push_back(policy);
  }
  E4R_CHECK(app::check_settings(options.settings));
  const Hearing hearing(listener);
  E4R_TRY(app::Comparison made,
          app::compare(spec, Access::data(recording)->inputs, hearing.listener()));
  return Access::report(std::move(made.report), false);
}

Result<Report> verify(const Recording& recording, const VerifyOptions& options,
                      const Listener& listener) {
  app::RunSpec spec = spec_of(options);
  spec.free_run = options.free_run;
  if (!options.policy.empty()) {
    E4R_TRY(const e4r::allocator::Policy* policy, app::parse_policy(options.policy));
    spec.policies = {policy};
  }
  const Hearing hearing(listener);
  E4R_TRY(e4r::report::ReplayReport made,
          app::verify(spec, Access::data(recording)->inputs, hearing.listener()));
  return Access::report(std::move(made), true);
}

Sweep::Sweep(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
Sweep::Sweep(const Sweep&) = default;
Sweep::Sweep(Sweep&&) noexcept = default;
Sweep& Sweep::operator=(const Sweep&) = default;
Sweep& Sweep::operator=(Sweep&&) noexcept = default;
Sweep::~Sweep() = default;

Result<Sweep> Sweep::follow(const Recording& recording, bool force, const Listener& listener) {
  auto data = std::make_shared<Data>(recording, listener);
  E4R_CHECK(data->followed.follow(force, {}, data->hearing.listener()));
  return Sweep(std::move(data));
}

Result<Report> Sweep::point(const std::string& policy,
                            const std::vector<std::string>& settings) const {
  return decisions(policy, settings, nullptr);
}

Result<Report> Sweep::decisions(const std::string& policy, const std::vector<std::string>& settings,
                                const DecisionVisitor& visit) const {
  E4R_TRY(const e4r::allocator::Policy* decides, app::parse_policy(policy));
  e4r::replay::DecisionWatch::Watch watch;
  if (visit)
    watch = [&visit](const e4r::replay::Decided& decided) {
      return visit({decided.decision, decided.op.ordinal, decided.request.ino,
                    decided.request.logical, decided.request.len, public_decision(decided.made)});
    };
  E4R_TRY(e4r::results::Outcome run, data_->followed.run(*decides, settings, watch));
  e4r::report::ReplayReport report = data_->followed.report();
  report.runs.push_back(std::move(run));
  return Access::report(std::move(report), false);
}

}  // namespace e4replay
