// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/verification.h"

#include "app/recorded_account.h"
#include "app/setups.h"
#include "replay/engine.h"

namespace e4r::app {
namespace {

// The kernel's figures from the end of the run, given or found beside the trace.
struct KernelsAccount {
  std::optional<std::vector<state::MbGroup>> groups;
  std::optional<std::vector<stats::MbStat>> stats;
};

Result<KernelsAccount> read_account(const VerificationOptions& wanted, const InputOptions& options,
                                    const Inputs& inputs, const Listener& listener) {
  KernelsAccount out;
  const bool given = !wanted.mb_groups.empty() || !wanted.mb_stats.empty();
  if (!end_in_doubt(inputs).empty() && !given) return out;
  E4R_TRY(out.groups, read_kernel_groups(wanted.mb_groups, options, inputs));
  if (wanted.mb_stats.empty()) {
    E4R_TRY(const std::string uncounted, uncounted_stats(options, inputs));
    if (!uncounted.empty()) {
      listener.warn(fmt::format(
          "{}: the kernel did not count (mb_stats was 0), so its counters are not compared",
          uncounted));
      return out;
    }
  }
  E4R_TRY(out.stats, read_kernel_stats(wanted.mb_stats, options, inputs));
  return out;
}

Status compare(const KernelsAccount& kernel, const replay::Run& run, results::Outcome& report) {
  if (kernel.groups) {
    if (const allocator::KernelAccount* account = run.engine->account()) {
      E4R_TRY(const std::vector<state::MbGroup> own, stats::parse_mb_groups(account->mb_groups));
      report.groups = stats::compare_mb_groups(*kernel.groups, own);
    } else {
      report.groups = stats::compare_mb_groups(*kernel.groups, run.engine->state());
    }
  }
  if (!kernel.stats) return {};
  const auto own = results::kernels_stats(*run.engine);
  report.kernel_stats = stats::compare_mb_stats(
      *kernel.stats, own ? *own : stats::mb_stats(run.engine->policy(), run.engine->counters()));
  return {};
}

Result<replay::Followed> follow_recorded(replay::Session& session,
                                         const allocator::Tunables& tunables) {
  replay::Followed out;
  E4R_TRY(out.run, session.follow_recorded({nullptr, tunables}));
  return out;
}

// Explains the requested decision, or else the first that differs. The latter is known only at the
// end, so a second run explains it, made in the same way as `told`.
Result<std::string> explain(replay::Session& session, replay::Setup setup,
                            const InputOptions& options, bool free_run, const replay::Run& told) {
  if (options.explain != 0) return explained(options, told);
  const replay::Divergence* diverged = told.engine->agreement().first_divergence();
  if (diverged == nullptr) return std::string();
  setup.keep.explain = {diverged->decision};
  E4R_TRY(const replay::Run run, free_run ? session.free_run(setup) : session.follow(setup));
  return run.engine->explanation(diverged->decision);
}

}  // namespace

Result<report::ReplayReport> verify(const InputOptions& options, const VerificationOptions& wanted,
                                    const Inputs& inputs, const Listener& listener) {
  const allocator::Policy* const policy = wanted.policy;
  allocator::Tunables tunables = inputs.recorded;
  E4R_CHECK(apply_settings(tunables, options.settings));
  E4R_TRY(const KernelsAccount kernel, read_account(wanted, options, inputs, listener));
  replay::Session session(inputs.source, inputs.trace,
                          session_options(options, inputs, listener.progress));
  report::ReplayReport report = start_report(options, inputs);
  replay::Setup setup = {policy, tunables};
  if (policy != nullptr) {
    warn_of_cold_kernel(*policy, inputs, listener);
    setup = make_setup(*policy, tunables, inputs);
  }
  // A kernel's code cannot be corrected after a difference, so it only decides alone.
  const bool by_kernel = setup.make != nullptr;
  if (options.explain != 0) setup.keep.explain = {options.explain};
  E4R_TRY(replay::Followed both,
          by_kernel ? follow_recorded(session, tunables) : session.follow_beside_alone(setup));
  const replay::Run& followed = both.run;
  if (!by_kernel) setup.policy = &followed.engine->policy();
  if (followed.engine->decisions() == 0)
    return error(
        "{}: has no closed decision (ext4_mballoc_alloc, ext4_mballoc_prealloc), so there "
        "is nothing to verify",
        inputs.trace.name());
  report.contradictions = followed.engine->contradictions();
  if (session.warm() != nullptr) report.warm = *session.warm();
  if (!both.alone) {
    E4R_TRY(both.alone, session.free_run(setup));
  }
  const replay::Run& alone = *both.alone;
  const bool told_alone = wanted.free_run || by_kernel;
  const replay::Run& told = told_alone ? alone : followed;
  // Reading mb_groups loaded all groups in the recorded kernel. A deciding kernel keeps its own
  // account.
  if (kernel.groups && told.engine->account() == nullptr) told.engine->load_all_groups();
  results::Outcome run = results::outcome_of(told);
  if (!told_alone) run.agreement = followed.engine->agreement();
  run.free_run = alone.engine->agreement();
  E4R_CHECK(compare(kernel, told, run));
  E4R_TRY(run.explanation, explain(session, setup, options, told_alone, told));
  report.runs.push_back(std::move(run));
  return report;
}

}  // namespace e4r::app
