// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>

#include "app/fail_if.h"
#include "app/setups.h"
#include "app/verification.h"
#include "common/command.h"
#include "common/print_line.h"
#include "e4replay/options.h"
#include "util/file.h"

namespace e4r::tools {
namespace cmd_verify {
namespace {

struct Options : InputArguments {
  std::string policy;
  std::string html;
  std::string kernel_log;
};

Status print(const report::ReplayReport& report, const Options& options, const Outputs& outputs) {
  if (!options.json.empty())
    E4R_CHECK(write_output(replay_json(report), outputs.name_of(options.json)));
  if (!options.html.empty())
    E4R_CHECK(write_output(verify_html(report), outputs.name_of(options.html)));
  if (options.json == "-" || options.html == "-") return {};
  print_report(verify_text(report));
  return {};
}

Result<Outputs> declare_files(const Options& options) {
  Outputs outputs;
  declare_reads(options.open, outputs);
  app::declare_reads(options.spec.policies, outputs);
  E4R_CHECK(outputs.writes(options.json));
  E4R_CHECK(outputs.writes(options.kernel_log));
  E4R_CHECK(outputs.writes(options.html));
  return outputs;
}

// Parses the policy's name. An Error is a usage error.
Status resolve(Options& options) {
  if (!options.policy.empty()) {
    E4R_TRY(const allocator::Policy* policy, app::parse_policy(options.policy));
    options.spec.policies = {policy};
  }
  E4R_CHECK(app::check_conditions(options.fail_if, app::verify_names()));
  return tools::resolve(options);
}

Result<int> answer(const Options& options) {
  E4R_TRY(const Outputs outputs, declare_files(options));
  Progress progress(!options.no_progress);
  const app::Listener listener = {progress, warn};
  E4R_TRY(const app::Inputs inputs, open_inputs(options.open, listener));
  auto report = verify(options.spec, inputs, listener);
  progress.wipe();
  if (!report.ok()) return std::move(report).error();
  E4R_CHECK(print(*report, options, outputs));
  if (options.fail_if.empty()) return report->runs.front().agrees() ? kDone : kDisagreed;
  E4R_TRY(const std::string failure, app::find_verify_failure(options.fail_if, *report));
  return status_of_conditions(failure);
}

Result<int> run(Options& options) {
  if (const Status status = resolve(options); !status.ok())
    return usage_error(status.error().message);
  return answer(options);
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto options = std::make_shared<Options>();
  declare_inputs(app, *options);
  app.add_option("-p,--policy", options->policy, "policy to compare with the recorded kernel")
      .type_name("POLICY");
  app.add_flag("--free-run", options->spec.free_run,
               "run freely to the end instead of correcting mismatches");
  app.add_option("--mb-groups", options->open.mb_groups,
                 "the kernel's mb_groups at the end (default: NAME.mb_groups next to the trace)")
      .type_name("FILE");
  app.add_option("--mb-stats", options->open.mb_stats,
                 "the kernel's mb_stats at the end (default: NAME.mb_stats next to the trace)")
      .type_name("FILE");
  app.add_option("--html", options->html,
                 "also write the result as a page; with -, instead of the text")
      .type_name("FILE");
  declare_kernel_log(app, options->kernel_log);
  return [options] { return with_kernel_log(options->kernel_log, [&] { return run(*options); }); };
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
      "  e4replay verify run.e4c --fail-if 'agreement/percent_identical < 99.9'\n"
      "Exit status 3 when model and kernel disagree anywhere and there is no --fail-if.\n",
      cmd_verify::declare};
  return kCommand;
}

}  // namespace e4r::tools
