// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/verification.h"

#include <algorithm>

#include "app/comparison.h"
#include "app/setups.h"
#include "replay/engine.h"
#include "trace/inspection.h"
#include "util/units.h"

namespace e4r::app {
namespace {

// Whether image and trace come from one capture, which also holds the kernel's tunables and a count
// of lost events.
bool is_whole_capture(const report::ReplayReport& report) {
  return report.image_path == report.trace_path;
}

// Formats "check A, B and C".
std::string check_text(const std::vector<std::string>& checks) {
  std::string out = "check ";
  for (std::size_t i = 0; i < checks.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : i + 1 == checks.size() ? " and " : ", ", checks[i]);
  return out;
}

// Lists possible causes other than the model.
std::vector<std::string> doubts(const Inputs& inputs) {
  const InputOptions& options = inputs.options;
  std::vector<std::string> out;
  for (const auto& [word, generation] : trace::kGenerationWords)
    if (options.read.generation == generation)
      out.push_back(fmt::format("--generation {} (without it, the trace decides)", word));
  if (!options.trace.empty())
    out.push_back(fmt::format("that {} is the image from before the trace", options.image));
  const bool of_capture = inputs.capture && options.tunables_file.empty();
  if (inputs.tunables_from.empty())
    out.emplace_back("that the recorded kernel had the default tunables (else give --tunables)");
  else if (!of_capture)
    out.push_back(fmt::format("that {} has the recorded kernel's tunables", inputs.tunables_from));
  if (!inputs.capture)
    out.emplace_back("that no events were lost (`e4replay trace info`)");
  else if (inputs.capture->end() == nullptr)
    out.emplace_back("that no events were lost, which a capture without its end does not say");
  return out;
}

// Names the nearest policy. Says that no policy is the kernel's own only if no events were lost.
// Lost events are a likelier cause of differences.
std::string nearest_text(const report::ReplayReport& report) {
  return fmt::format("{} {}",
                     report.trace.lost_any() ? "the model of the recorded kernel,"
                                             : "no policy here is this kernel's: the nearest,",
                     report.recorded_policy);
}

constexpr const char* kByItsCode =
    "let the kernel's own code decide (`e4replay kernel build TREE -o FILE`, -p kernel:FILE)";

// Returns advice for a model that does not follow the trace. The likeliest cause is the policy.
std::string advice(const report::ReplayReport& report, const Inputs& inputs) {
  std::string out;
  for (const std::string& line : trace::not_understood(report.trace)) out += line + "; ";
  if (report.trace.lost_any())
    return out + "events were lost while recording (`e4replay trace info`), so record it again";
  out += kByItsCode;
  const std::vector<std::string> checks = doubts(inputs);
  if (!checks.empty()) return out + ", or " + check_text(checks);
  return out +
         "; image and tunables are the capture's own and no event was lost, so only the model can "
         "be wrong";
}

}  // namespace

Status check_allocator(const Inputs& inputs) {
  if (!inputs.trace.summary().of_ldiskfs && !allocator::is_of_lustre(inputs.release)) return {};
  return error("{}: was recorded from Lustre's ldiskfs, whose allocator no policy here models",
               inputs.trace.name());
}

Status check_fidelity(const report::ReplayReport& report, const Inputs& inputs) {
  if (const Status known = check_allocator(inputs); !known.ok())
    return error("{}; with --force, it is replayed like a recording of ext4",
                 known.error().message);
  const replay::Agreement& a = *report.recorded;
  if (a.follows()) return {};
  constexpr const char* kForce = "--force gives a result anyway";
  const replay::Divergence* first = a.first_divergence();
  if (first == nullptr)
    return error(
        "{}: has no event that closes a decision, so nothing shows that the model follows the "
        "recorded kernel; record ext4_mballoc_alloc and ext4_mballoc_prealloc as well; {}",
        report.trace_path, kForce);
  return error(
      "{}: {}, follows only {:.1f} % of {} recorded decisions; below {:.0f} % its results are "
      "meaningless: first divergence at decision {}, event {}, in {}; {}; `e4replay verify` shows "
      "more; {}",
      report.trace_path, nearest_text(report), *a.percent_identical(), format_count(a.requests),
      replay::Agreement::kFollows, format_count(first->decision), format_count(first->event),
      first->fields, advice(report, inputs), kForce);
}

void warn_of_fidelity(const report::ReplayReport& report, const Listener& listener) {
  const auto percent = report.recorded->percent_identical();
  if (!percent)
    listener.warn(
        fmt::format("{} closes no decision: nothing shows whether this result can be trusted",
                    report.trace_path));
  else if (*percent < replay::Agreement::kTrusted && report.recorded->differs_by_races())
    listener.warn(fmt::format(
        "the model follows {:.1f} % of the recorded decisions; requests overlap at {} of the {} "
        "that differ; `e4replay verify` shows where they diverge",
        *percent, format_count(report.recorded->races),
        format_count(report.recorded->differing())));
  else if (*percent < replay::Agreement::kTrusted && report.trace.lost_any())
    listener.warn(fmt::format(
        "{}, follows {:.1f} % of its decisions: events were lost while recording (`e4replay trace "
        "info`), so record it again",
        nearest_text(report), *percent));
  else if (*percent < replay::Agreement::kTrusted)
    listener.warn(fmt::format(
        "{}, follows {:.1f} % of its decisions; {}{}; `e4replay verify` shows where they diverge",
        nearest_text(report), *percent, kByItsCode,
        is_whole_capture(report)
            ? ""
            : fmt::format(", or check that {} is the image from before the trace",
                          report.image_path)));
}

namespace {

report::PolicyChoice choice_of(const replay::Session& session, const replay::Engine& followed) {
  report::PolicyChoice out = {
      std::string(followed.policy().name), {}, followed.agreement().is_kernels_own()};
  // If events were lost, they may have caused the difference, so it is unknown whether the policy
  // is the kernel's own.
  if (session.trace().summary().lost_any() && out.kernels_own == false) out.kernels_own.reset();
  for (const allocator::Policy* policy : session.allowed()) out.allowed.emplace_back(policy->name);
  return out;
}

}  // namespace

Result<replay::Run> follow_into(replay::Session& session, replay::Setup recorded,
                                report::ReplayReport& report) {
  E4R_TRY(replay::Run followed, session.follow_recorded(std::move(recorded)));
  report.recorded = followed.engine->agreement();
  report.recorded_policy = followed.engine->policy().name;
  report.choice = choice_of(session, *followed.engine);
  if (session.warm() != nullptr) report.warm = *session.warm();
  report.groups_read_early = session.groups_read_early();
  report.contradictions = followed.engine->contradictions();
  return followed;
}

Result<std::vector<results::Outcome>> replay_other_orders(const replay::Session& session,
                                                          const Inputs& inputs,
                                                          const std::string& recorded_policy,
                                                          unsigned threads) {
  constexpr std::uint64_t kMost = 20, kLeast = 4;
  constexpr std::uint64_t kMostEvents = 1 << 24;  // total of all orders: a few seconds
  const allocator::Policy* policy = allocator::find_policy(recorded_policy);
  if (policy == nullptr) return std::vector<results::Outcome>();
  const std::uint64_t orders =
      std::clamp(kMostEvents / std::max<std::uint64_t>(session.trace().events(), 1), kLeast, kMost);
  std::vector<results::Outcome> out(orders + 1);
  E4R_CHECK(session.in_other_orders(make_setup(*policy, inputs.recorded, inputs), orders, threads,
                                    [&out](std::size_t number, const replay::Run& run) {
                                      out[number] = results::outcome_of(run);
                                    }));
  if (out.front().policy == nullptr) out.clear();
  return out;
}

FollowedRecording::FollowedRecording(const Inputs& inputs, replay::SessionOptions session)
    : inputs_(inputs),
      session_(inputs.source, inputs.trace, std::move(session)),
      report_(start_report(inputs)) {}

Status FollowedRecording::follow(bool force, std::span<const allocator::Policy* const> policies,
                                 const Listener& listener) {
  const auto done = follow_into(session_, {nullptr, inputs_.recorded}, report_);
  listener.progress.wipe();
  if (!done.ok()) return done.error();
  if (!force) E4R_CHECK(check_fidelity(report_, inputs_));
  warn_of_fidelity(report_, listener);
  for (const allocator::Policy* policy : policies) warn_of_cold_kernel(*policy, inputs_, listener);
  return {};
}

Result<results::Outcome> FollowedRecording::run(const allocator::Policy& policy,
                                                const std::vector<std::string>& settings,
                                                const replay::DecisionWatch::Watch& decided) const {
  replay::Setup setup = make_setup(policy, inputs_.recorded, inputs_);
  if (decided)
    keep_also(setup, [&decided](replay::Accounts& accounts) {
      accounts.add<replay::DecisionWatch>(decided);
    });
  E4R_CHECK(apply_settings(setup.tunables, settings));
  E4R_TRY(const replay::Run run, session_.what_if(setup));
  return results::outcome_of(run);
}

namespace {

// The kernel's figures from the end of the run, given or found next to the trace.
struct KernelsAccount {
  std::optional<std::vector<state::MbGroup>> groups;
  std::optional<std::vector<stats::MbStat>> stats;
};

Result<KernelsAccount> read_account(const Inputs& inputs, const Listener& listener) {
  KernelsAccount out;
  const bool given = !inputs.options.mb_groups.empty() || !inputs.options.mb_stats.empty();
  if (!doubt_about_end(inputs).empty() && !given) return out;
  E4R_TRY(out.groups, read_kernel_groups(inputs));
  if (inputs.options.mb_stats.empty()) {
    E4R_TRY(const std::string uncounted, uncounted_stats(inputs));
    if (!uncounted.empty()) {
      listener.warn(fmt::format(
          "{}: the kernel did not count (mb_stats was 0), so its counters are not compared",
          uncounted));
      return out;
    }
  }
  E4R_TRY(out.stats, read_kernel_stats(inputs));
  return out;
}

// Compares the kernel's groups with the final state and with the state while ranges were being
// discarded, because the kernel's groups may have been read at that time. Returns the better match.
stats::MbGroupsComparison compare_groups(const std::vector<state::MbGroup>& kernel,
                                         const replay::Engine& engine) {
  const state::FsState& state = engine.state();
  stats::MbGroupsComparison out = stats::compare_mb_groups(kernel, state);
  if (out.equal() || engine.groups_while_discarding().empty()) return out;
  std::vector<state::MbGroup> meanwhile;
  meanwhile.reserve(state.group_count());
  for (std::uint32_t number = 0; number < state.group_count(); ++number)
    meanwhile.push_back(state::mb_group(state.group(number)));
  for (const state::MbGroup& group : engine.groups_while_discarding())
    meanwhile[group.number] = group;
  const stats::MbGroupsComparison then = stats::compare_mb_groups(kernel, meanwhile);
  return then.differing < out.differing ? then : out;
}

Status compare(const KernelsAccount& kernel, const replay::Run& run, results::Outcome& report) {
  if (kernel.groups) {
    if (const allocator::KernelAccount* account = run.engine->kernel_account()) {
      E4R_TRY(const std::vector<state::MbGroup> own, stats::parse_mb_groups(account->mb_groups));
      report.groups = stats::compare_mb_groups(*kernel.groups, own);
    } else {
      report.groups = compare_groups(*kernel.groups, *run.engine);
    }
  }
  if (!kernel.stats) return {};
  const auto own = results::kernels_stats(*run.engine);
  report.kernel_stats = stats::compare_mb_stats(
      *kernel.stats, own ? *own : stats::mb_stats(run.engine->policy(), run.engine->counters()));
  return {};
}

// Follows the recorded kernel with a model, even if the setup's policy is a kernel's code: the
// decisions of a kernel's code cannot be replaced after a difference.
Result<replay::Followed> follow_recorded(replay::Session& session, replay::Setup setup) {
  setup.policy = nullptr;
  setup.make = nullptr;
  setup.keep = nullptr;
  replay::Followed out;
  E4R_TRY(out.run, session.follow_recorded(std::move(setup)));
  return out;
}

// Explains the requested decision, or else the first one that differs. The first one that differs
// is known only at the end, so it needs a second run, made in the same way as `first_run`.
Result<std::string> explain(replay::Session& session, replay::Setup setup, std::uint64_t wanted,
                            bool free_run, const replay::Run& first_run) {
  if (wanted != 0) return explained(wanted, first_run);
  const replay::Divergence* diverged = first_run.engine->agreement().first_divergence();
  if (diverged == nullptr) return std::string();
  setup.keep = explanations_of({diverged->decision});
  E4R_TRY(const replay::Run run, free_run ? session.free_run(setup) : session.follow_again(setup));
  return explanation(run, diverged->decision);
}

}  // namespace

Result<report::ReplayReport> verify(const RunSpec& spec, const Inputs& inputs,
                                    const Listener& listener) {
  const allocator::Policy* const policy = spec.policies.empty() ? nullptr : spec.policies.front();
  if (policy == nullptr)
    if (const Status known = check_allocator(inputs); !known.ok())
      return error("{}; -p compares it with a policy of ext4", known.error().message);
  allocator::Tunables tunables = inputs.recorded;
  E4R_CHECK(apply_settings(tunables, spec.settings));
  E4R_TRY(const KernelsAccount kernel, read_account(inputs, listener));
  replay::Session session(inputs.source, inputs.trace, session_options(inputs, listener.progress));
  report::ReplayReport report = start_report(inputs);
  replay::Setup setup = {policy, tunables};
  setup.keep = [](replay::Accounts& accounts) { accounts.add<replay::WriteOrder>(); };
  if (policy != nullptr) {
    warn_of_cold_kernel(*policy, inputs, listener);
    setup = make_setup(*policy, tunables, inputs);
  }
  setup.check_every = check_every(spec);
  const bool by_kernel = setup.make != nullptr;
  if (spec.explain != 0) keep_also(setup, explanations_of({spec.explain}));
  E4R_TRY(replay::Followed both,
          by_kernel ? follow_recorded(session, setup) : session.follow_beside_alone(setup));
  const replay::Run& followed = both.run;
  if (!by_kernel) setup.policy = &followed.engine->policy();
  if (followed.engine->decisions() == 0)
    return error(
        "{}: has no closed decision (ext4_mballoc_alloc, ext4_mballoc_prealloc), so there "
        "is nothing to verify",
        inputs.trace.name());
  if (policy == nullptr) report.choice = choice_of(session, *followed.engine);
  report.contradictions = followed.engine->contradictions();
  if (session.warm() != nullptr) report.warm = *session.warm();
  report.groups_read_early = session.groups_read_early();
  if (!both.alone) {
    E4R_TRY(both.alone, session.free_run(setup));
  }
  const replay::Run& alone = *both.alone;
  const bool reports_free_run = spec.free_run || by_kernel;
  const replay::Run& reported = reports_free_run ? alone : followed;
  // Reading mb_groups loaded all groups in the recorded kernel, so the model loads them, too. A
  // kernel that decides provides its own mb_groups.
  if (kernel.groups && reported.engine->kernel_account() == nullptr)
    reported.engine->load_all_groups();
  results::Outcome run = results::outcome_of(reported);
  if (!reports_free_run) run.agreement = followed.engine->agreement();
  run.free_run = alone.engine->agreement();
  E4R_CHECK(compare(kernel, reported, run));
  E4R_TRY(run.explanation, explain(session, setup, spec.explain, reports_free_run, reported));
  report.runs.push_back(std::move(run));
  return report;
}

}  // namespace e4r::app
