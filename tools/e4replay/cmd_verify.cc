// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>

#include "app/deciders.h"
#include "common/command.h"
#include "e4replay/inputs.h"
#include "e4replay/recorded_account.h"
#include "util/file.h"

namespace e4r::tools {
namespace cmd_verify {
namespace {

struct Options {
  InputOptions in;
  std::string policy;
  std::string mb_groups;
  std::string mb_stats;
  std::string html;
  bool free_run = false;
};

// The kernel's own account, given or beside the trace.
struct KernelFiles {
  std::optional<std::vector<state::MbGroup>> groups;
  std::optional<std::vector<stats::MbStat>> stats;
};

Result<KernelFiles> read_kernel_files(const Options& o, const Inputs& inputs) {
  KernelFiles out;
  if (!end_in_doubt(inputs).empty() && o.mb_groups.empty() && o.mb_stats.empty()) return out;
  E4R_TRY(out.groups, read_kernel_groups(o.mb_groups, o.in, inputs));
  E4R_TRY(out.stats, read_kernel_stats(o.mb_stats, o.in, inputs));
  return out;
}

Status compare(const KernelFiles& kernel, const replay::Run& run, report::RunReport& report) {
  if (kernel.groups) {
    if (const allocator::KernelAccount* account = run.engine->account()) {
      E4R_TRY(const std::vector<state::MbGroup> own, stats::parse_mb_groups(account->mb_groups));
      report.groups = stats::compare_mb_groups(*kernel.groups, own);
    } else {
      report.groups = stats::compare_mb_groups(*kernel.groups, run.engine->state());
    }
  }
  if (kernel.stats) report.kernel_stats = stats::compare_mb_stats(*kernel.stats, report.mb_stats);
  return {};
}

// The decision that was asked for, or else the first that differs. That one is known at the end
// only, so a second run writes it down.
Result<std::string> explain(replay::Session& session, replay::Setup setup, const Options& options,
                            const replay::Run& told) {
  if (options.in.explain != 0) return explained(options.in, told);
  const replay::Divergence* diverged = told.engine->agreement().first_divergence();
  if (diverged == nullptr) return std::string();
  setup.explain = {diverged->decision};
  E4R_TRY(const replay::Run run,
          options.free_run ? session.free_run(setup) : session.follow(setup));
  return run.engine->explanation(diverged->decision);
}

Result<report::ReplayReport> verify(const Options& options, const Inputs& inputs,
                                    const allocator::Policy* policy, const KernelFiles& kernel,
                                    Progress& progress) {
  replay::Session session(inputs.source, inputs.trace,
                          session_options(options.in, inputs, progress));
  report::ReplayReport report = start_report(options.in, inputs);
  replay::Setup setup = {policy, inputs.recorded};
  if (policy != nullptr) {
    warn_of_cold_kernel(*policy, inputs);
    setup = make_setup(*policy, inputs.recorded, inputs);
  }
  // The code of a kernel cannot be put right after a difference: it decides alone.
  const bool by_kernel = setup.make != nullptr;
  if (options.in.explain != 0) setup.explain = {options.in.explain};
  const replay::Setup recorded = {nullptr, inputs.recorded};
  E4R_TRY(const replay::Run followed, by_kernel           ? session.follow_recorded(recorded)
                                      : policy == nullptr ? session.follow_recorded(setup)
                                                          : session.follow(setup));
  if (!by_kernel) setup.policy = &followed.engine->policy();
  if (followed.engine->decisions() == 0)
    return error(
        "{}: no closed decision in it (ext4_mballoc_alloc, ext4_mballoc_prealloc), so there "
        "is nothing to verify",
        inputs.trace.name());
  report.contradictions = followed.engine->contradictions();
  if (session.warm() != nullptr) report.warm = *session.warm();
  E4R_TRY(const replay::Run alone, session.free_run(setup));
  const bool told_alone = options.free_run || by_kernel;
  const replay::Run& told = told_alone ? alone : followed;
  report::RunReport run = report::summarize(told);
  if (!told_alone) run.agreement = followed.engine->agreement();
  run.free_run = alone.engine->agreement();
  E4R_CHECK(compare(kernel, told, run));
  E4R_TRY(run.explanation, explain(session, setup, options, told));
  report.runs.push_back(std::move(run));
  return report;
}

Status print(const report::ReplayReport& report, const Options& options, const Outputs& outputs) {
  if (!options.in.json.empty())
    E4R_CHECK(write_output(replay_json(report), outputs.named(options.in.json)));
  if (!options.html.empty())
    E4R_CHECK(write_output(verify_html(report), outputs.named(options.html)));
  if (options.in.json == "-" || options.html == "-") return {};
  return write_output(verify_text(report), "-");
}

Result<Outputs> declare_files(const Options& options, const allocator::Policy* policy) {
  Outputs outputs;
  declare_reads(options.in, outputs);
  if (policy != nullptr) app::declare_reads({&policy, 1}, outputs);
  outputs.reads(options.mb_groups);
  outputs.reads(options.mb_stats);
  E4R_CHECK(outputs.writes(options.in.json));
  E4R_CHECK(outputs.writes(options.html));
  return outputs;
}

Result<int> run(const Options& options) {
  const allocator::Policy* policy = nullptr;
  if (!options.policy.empty()) {
    auto given = app::parse_policy(options.policy);
    if (!given.ok()) return usage_error(given.error().message);
    policy = *given;
  }
  allocator::Tunables scratch;
  if (const Status status = apply_settings(scratch, options.in.settings); !status.ok())
    return usage_error("--set: " + status.error().message);
  E4R_TRY(const Outputs outputs, declare_files(options, policy));
  Progress progress(!options.in.no_progress);
  E4R_TRY(Inputs inputs, open_inputs(options.in, progress));
  E4R_TRY(const KernelFiles kernel, read_kernel_files(options, inputs));
  E4R_CHECK(apply_settings(inputs.recorded, options.in.settings));
  auto report = verify(options, inputs, policy, kernel, progress);
  progress.wipe();
  if (!report.ok()) return std::move(report).error();
  E4R_CHECK(print(*report, options, outputs));
  return report->runs.front().agrees() ? kDone : kDisagreed;
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto options = std::make_shared<Options>();
  declare_inputs(app, options->in);
  app.add_option("-p,--policy", options->policy, "policy to hold against the recorded kernel")
      .type_name("POLICY");
  app.add_flag("--free-run", options->free_run,
               "decide alone to the end instead of putting mismatches right");
  app.add_option("--mb-groups", options->mb_groups,
                 "the kernel's mb_groups at the end (default: NAME.mb_groups beside the trace)")
      .type_name("FILE");
  app.add_option("--mb-stats", options->mb_stats,
                 "the kernel's mb_stats at the end (default: NAME.mb_stats beside the trace)")
      .type_name("FILE");
  app.add_option("--html", options->html, "write the result as a page as well; -: instead")
      .type_name("FILE");
  return [options] { return run(*options); };
}

}  // namespace
}  // namespace cmd_verify

const Command& verify_command() {
  static const Command kCommand = {
      "verify", "compare every decision of the model with the recorded kernel's",
      "  e4replay verify run.e4c                        what `e4replay record` wrote\n"
      "  e4replay verify start.img run.trace.zst -p legacy\n"
      "  e4replay verify start.img run.trace.zst -p legacy --free-run\n"
      "  e4replay verify start.img run.trace.zst --explain 1358\n"
      "  e4replay verify start.img run.e4t --mb-groups end.mb_groups --json -\n"
      "Exit status 3 when model and kernel disagree anywhere.\n",
      cmd_verify::declare};
  return kCommand;
}

}  // namespace e4r::tools
