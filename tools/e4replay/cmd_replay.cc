// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>

#include "app/deciders.h"
#include "common/command.h"
#include "e4replay/fidelity.h"
#include "e4replay/inputs.h"
#include "e4replay/recorded_account.h"
#include "image/write_bitmaps.h"
#include "util/file.h"

namespace e4r::tools {
namespace cmd_replay {
namespace {

struct Options {
  InputOptions in;
  std::string policies;  // empty: the recorded kernel's and its neighbours
  std::string html;
  std::string write_image;
  bool histogram = false;
  bool first_difference = false;
  bool force = false;
};

Status print(const report::ReplayReport& report, const Options& options, const Outputs& outputs) {
  if (!options.in.json.empty())
    E4R_CHECK(write_output(replay_json(report), outputs.named(options.in.json)));
  if (!options.html.empty())
    E4R_CHECK(write_output(replay_html(report), outputs.named(options.html)));
  if (options.in.json == "-" || options.html == "-") return {};
  return write_output(replay_text(report, options.histogram), "-");
}

// The start image with the block bitmaps that the replay ended with.
Status write_image(const OutputName& out, const Inputs& inputs, const replay::Engine& engine) {
  std::vector<std::uint64_t> words;
  return image::write_with_bitmaps(inputs.image_path, out,
                                   [&](GroupNumber group) -> std::span<const std::uint64_t> {
                                     if (engine.state().group(group).corrupt) return {};
                                     engine.state().settled_words(group, words);
                                     return words;
                                   });
}

// Has a run write down what becomes of the groups' free space. One that is done again, as following
// may be, begins anew.
void watch(const report::ReplayReport& report, replay::Setup& setup, stats::SpaceHistory& history) {
  constexpr std::uint64_t kFrames = 32;
  using trace::EventKind;
  const std::uint64_t decisions = report.trace.count(EventKind::mballoc_alloc) +
                                  report.trace.count(EventKind::mballoc_prealloc);
  setup.watch_every = std::max<std::uint64_t>(decisions / kFrames, 1);
  setup.watch = [&report, &history, first = setup.watch_every](std::uint64_t decision,
                                                               const state::FsState& state) {
    if (decision == first) history = stats::SpaceHistory(report.space_before.groups);
    history.add(decision, state);
  };
}

// Follows the recorded kernel, and keeps what that one did. Free space is the recorded one in each
// pass of the following, whatever the policy.
Status follow(replay::Session& session, const Options& options, const Inputs& inputs,
              report::ReplayReport& report) {
  replay::Setup setup = {nullptr, inputs.recorded};
  stats::SpaceHistory history;
  if (!options.html.empty()) watch(report, setup, history);
  E4R_TRY(const replay::Run followed, follow_into(session, std::move(setup), report));
  report.kernel = summarize_recorded(followed, recorded_stats(options.in, inputs));
  if (report.kernel->run) report.kernel->run->history = std::move(history);
  return {};
}

// The decisions with most steps, written down by runs of their own: which they are shows at the
// end.
Status explain_slowest(const replay::Session& session, std::vector<replay::Setup> setups,
                       report::ReplayReport& report) {
  for (std::size_t i = 0; i < setups.size(); ++i) {
    setups[i].watch = nullptr;
    setups[i].explain.clear();
    for (const replay::CostProfile::Decision& slow : report.runs[i].costs.slowest())
      setups[i].explain.push_back(slow.number);
    std::ranges::sort(setups[i].explain);
  }
  E4R_TRY(const std::vector<replay::Run> runs, session.what_if(setups));
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (const replay::CostProfile::Decision& slow : report.runs[i].costs.slowest())
      report.runs[i].explained.push_back(runs[i].engine->explanation(slow.number));
  return {};
}

// Where each run parts from the first one. What they made of that request is written down by runs
// of their own: which it is shows at the end.
Status find_partings(const replay::Session& session, const std::vector<replay::Setup>& setups,
                     const std::vector<replay::Run>& runs, report::ReplayReport& report) {
  const replay::DecisionLog& first = runs.front().engine->log();
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const replay::DecisionLog& log = runs[i].engine->log();
    report::Parting parting;
    parting.from = report.runs.front().policy->name;
    parting.requests = first.entries().size();
    parting.alike = first.alike(log);
    const bool more = parting.alike < log.entries().size();
    if (parting.alike < parting.requests || more) {
      parting.decision = (more ? log : first).entries()[parting.alike].decision;
      std::vector<replay::Setup> both = {setups.front(), setups[i]};
      for (replay::Setup& setup : both) {
        setup.watch = nullptr;
        setup.explain.clear();
        setup.write_down = parting.alike;
      }
      E4R_TRY(const std::vector<replay::Run> again, session.what_if(both));
      parting.theirs = again.front().engine->log().text();
      parting.made = again.back().engine->log().text();
    }
    report.runs[i].parting = std::move(parting);
  }
  return {};
}

Result<report::ReplayReport> replay(const Options& options, const Inputs& inputs,
                                    const Outputs& outputs,
                                    std::vector<const allocator::Policy*> policies,
                                    Progress& progress) {
  replay::Session session(inputs.source, inputs.trace,
                          session_options(options.in, inputs, progress));
  report::ReplayReport report = start_report(options.in, inputs);
  E4R_CHECK(follow(session, options, inputs, report));
  if (!options.force) E4R_CHECK(check_fidelity(report, options.in, inputs));
  if (policies.empty()) policies = with_neighbours(report.recorded_policy);
  std::vector<replay::Setup> setups;
  for (const allocator::Policy* policy : policies) {
    warn_of_cold_kernel(*policy, inputs);
    replay::Setup& setup = setups.emplace_back(make_setup(*policy, inputs.recorded, inputs));
    E4R_CHECK(apply_settings(setup.tunables, options.in.settings));
  }
  if (options.in.explain != 0)
    for (replay::Setup& setup : setups) setup.explain = {options.in.explain};
  for (replay::Setup& setup : setups) setup.log = options.first_difference;
  std::vector<stats::SpaceHistory> histories(setups.size());
  for (std::size_t i = 0; !options.html.empty() && i < setups.size(); ++i)
    watch(report, setups[i], histories[i]);
  E4R_TRY(const std::vector<replay::Run> runs, session.what_if(setups));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    report.runs.push_back(report::summarize(runs[i]));
    E4R_TRY(report.runs.back().explanation, explained(options.in, runs[i]));
    report.runs.back().history = std::move(histories[i]);
  }
  if (options.first_difference) E4R_CHECK(find_partings(session, setups, runs, report));
  if (!options.html.empty()) E4R_CHECK(explain_slowest(session, std::move(setups), report));
  if (!options.write_image.empty()) {
    progress.show("writing " + options.write_image);
    E4R_CHECK(write_image(outputs.named(options.write_image), inputs, *runs.front().engine));
  }
  return report;
}

Result<Outputs> declare_files(const Options& options,
                              const std::vector<const allocator::Policy*>& policies) {
  Outputs outputs;
  declare_reads(options.in, outputs);
  app::declare_reads(policies, outputs);
  E4R_CHECK(outputs.writes(options.in.json));
  E4R_CHECK(outputs.writes(options.html));
  E4R_CHECK(outputs.writes(options.write_image, OutputKind::file));
  return outputs;
}

Result<int> run(const Options& options) {
  std::vector<const allocator::Policy*> policies;
  if (!options.policies.empty()) {
    auto given = app::parse_policies(options.policies);
    if (!given.ok()) return usage_error(given.error().message);
    policies = *std::move(given);
  }
  if (!options.write_image.empty() && policies.size() != 1)
    return usage_error("--write-image needs a single policy: give it with -p");
  allocator::Tunables scratch;
  if (const Status status = apply_settings(scratch, options.in.settings); !status.ok())
    return usage_error("--set: " + status.error().message);
  E4R_TRY(const Outputs outputs, declare_files(options, policies));
  Progress progress(!options.in.no_progress);
  E4R_TRY(const Inputs inputs, open_inputs(options.in, progress));
  auto report = replay(options, inputs, outputs, std::move(policies), progress);
  progress.wipe();
  if (!report.ok()) return std::move(report).error();
  warn_of_fidelity(*report);
  E4R_CHECK(print(*report, options, outputs));
  return kDone;
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto options = std::make_shared<Options>();
  declare_inputs(app, options->in);
  app.add_option("-p,--policy", options->policies,
                 "policies, comma-separated (default: the recorded kernel's and its neighbours)")
      .type_name("POLICY[,POLICY...]");
  app.add_option("--write-image", options->write_image,
                 "write a sparse copy of IMAGE with the replay's block bitmaps (its inodes stay "
                 "the start image's)")
      .type_name("OUT");
  app.add_flag("--force", options->force,
               "answer although the model follows less than 90 % of the recorded decisions");
  app.add_flag("--histogram", options->histogram, "free-extent histograms before and after");
  app.add_flag("--first-difference", options->first_difference,
               "name the first decision that each policy makes otherwise than the first policy");
  app.add_option("--html", options->html, "write the comparison as a page as well; -: instead")
      .type_name("FILE");
  return [options] { return run(*options); };
}

}  // namespace
}  // namespace cmd_replay

const Command& replay_command() {
  static const Command kCommand = {
      "replay", "what other allocator policies would have made of a trace",
      "  e4replay replay run.e4c                        what `e4replay record` wrote\n"
      "  e4replay replay start.img run.trace.zst\n"
      "  e4replay replay start.img run.trace.zst -p legacy,cr1.5,linear --histogram\n"
      "  e4replay replay start.img run.trace.zst -p cr1.5 --set mb_cr1_5_max_trim_order=6\n"
      "  e4replay replay start.img run.trace.zst -p linux-6.1,linux-6.12,linux-7.3\n"
      "  e4replay replay start.img run.e4t --json result.json\n",
      cmd_replay::declare};
  return kCommand;
}

}  // namespace e4r::tools
