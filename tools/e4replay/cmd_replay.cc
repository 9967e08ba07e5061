// SPDX-License-Identifier: GPL-2.0-or-later
#include <CLI/CLI.hpp>
#include <sstream>

#include "common/command.h"
#include "e4replay/inputs.h"
#include "image/write_bitmaps.h"
#include "util/file.h"
#include "util/units.h"

namespace e4r::tools {
namespace {

struct Options {
  InputOptions in;
  std::string policies = "legacy,cr1.5";
  std::string html;
  std::string write_image;
  bool histogram = false;
  bool force = false;
};

Result<std::vector<const allocator::Policy*>> parse_policies(const std::string& text) {
  std::vector<const allocator::Policy*> out;
  std::istringstream names(text);
  for (std::string name; std::getline(names, name, ',');) {
    const allocator::Policy* policy = allocator::find_policy(name);
    if (policy == nullptr) {
      std::string known;
      for (const allocator::Policy* p : allocator::policies())
        known += fmt::format("{}{}", known.empty() ? "" : ", ", p->name);
      return error("unknown policy '{}': known are {}", name, known);
    }
    out.push_back(policy);
  }
  if (out.empty()) return error("-p needs a policy, such as legacy or cr1.5");
  return out;
}

Status print(const report::ReplayReport& report, const Options& options) {
  if (!options.in.json.empty()) E4R_CHECK(write_output(replay_json(report), options.in.json));
  if (!options.html.empty()) E4R_CHECK(write_output(replay_html(report), options.html));
  if (options.in.json == "-" || options.html == "-") return {};
  return write_output(replay_text(report, options.histogram), "-");
}

// What a person can do about a model that does not follow the trace.
std::string advice(const report::ReplayReport& report) {
  const bool modelled = replay::is_modelled(report.trace);
  std::string out = modelled ? ""
                             : fmt::format("no policy here decides like Linux {}; ",
                                           trace::kernel_of(report.trace));
  out += fmt::format(
      "check that {} is the image from before the trace, that the recorder's tunables "
      "lie beside the trace or are given with --tunables, and that no events were "
      "lost (`e4replay trace info`)",
      report.image_path);
  return out;
}

// The Error of a model that does not follow the recorded kernel, or cannot be seen to.
Status check_fidelity(const report::ReplayReport& report) {
  const replay::Agreement& a = *report.recorded;
  if (a.follows()) return {};
  constexpr const char* kForce = "--force answers all the same";
  const replay::Divergence* first = a.first_divergence();
  if (first == nullptr)
    return error(
        "{}: no closed decision in it, so nothing shows that the model follows the recorded "
        "kernel; record ext4_mballoc_alloc and ext4_mballoc_prealloc as well; {}",
        report.trace_path, kForce);
  return error(
      "{}: the model follows only {:.1f} % of {} recorded decisions under {}, and below {:.0f} % "
      "its answers mean nothing: first divergence at decision {}, event {}, in {}; {}; "
      "`e4replay verify` shows more; {}",
      report.trace_path, *a.percent_identical(), format_count(a.requests), report.recorded_policy,
      replay::Agreement::kFollows, format_count(first->decision), format_count(first->event),
      first->fields, advice(report), kForce);
}

void warn_of_fidelity(const report::ReplayReport& report) {
  constexpr double kTrusted = 99.0;
  const auto percent = report.recorded->percent_identical();
  if (!percent)
    warn(fmt::format("{} closes no decision: nothing shows what this answer is worth",
                     report.trace_path));
  else if (*percent < kTrusted)
    warn(
        fmt::format("the model follows only {:.1f} % of the recorded decisions: is {} the image "
                    "from before the trace? `e4replay verify` shows where they part",
                    *percent, report.image_path));
}

// The start image with the block bitmaps that the replay ended with.
Status write_image(const Options& options, const Inputs& inputs, const replay::Engine& engine) {
  std::vector<std::uint64_t> words;
  return image::write_with_bitmaps(inputs.image_path, options.write_image,
                                   [&](image::Group group) -> std::span<const std::uint64_t> {
                                     if (engine.state().group(group).corrupt) return {};
                                     engine.state().settled_words(group, words);
                                     return words;
                                   });
}

Result<report::ReplayReport> replay(const Options& options, const Inputs& inputs,
                                    const std::vector<replay::Setup>& setups, Progress& progress) {
  replay::Session session(inputs.source, inputs.trace,
                          session_options(options.in, inputs, progress));
  report::ReplayReport report = start_report(options.in, inputs);
  {
    E4R_TRY(const replay::Run followed, session.follow_recorded(inputs.recorded));
    report.recorded = followed.engine->agreement();
    report.recorded_policy = followed.engine->policy().name;
    if (session.warm() != nullptr) report.warm = *session.warm();
    report.contradictions = followed.engine->contradictions();
  }
  if (!options.force) E4R_CHECK(check_fidelity(report));
  session.explain(options.in.explain);
  E4R_TRY(const std::vector<replay::Run> runs, session.what_if(setups));
  for (const replay::Run& run : runs) {
    E4R_CHECK(check_explained(options.in, run));
    report.runs.push_back(report::summarize(run));
  }
  if (!options.write_image.empty()) {
    progress.show("writing " + options.write_image);
    E4R_CHECK(write_image(options, inputs, *runs.front().engine));
  }
  return report;
}

Result<int> run(const Options& options) {
  const auto policies = parse_policies(options.policies);
  if (!policies.ok()) return usage_error(policies.error().message);
  if (!options.write_image.empty() && policies->size() != 1)
    return usage_error("--write-image needs a single policy: give it with -p");
  allocator::Tunables scratch;
  if (const Status status = apply_settings(scratch, options.in.settings); !status.ok())
    return usage_error("--set: " + status.error().message);
  Progress progress(!options.in.no_progress);
  E4R_TRY(const Inputs inputs, open_inputs(options.in, progress));
  std::vector<replay::Setup> setups;
  for (const allocator::Policy* policy : *policies) {
    replay::Setup setup = {policy, inputs.recorded};
    E4R_CHECK(apply_settings(setup.tunables, options.in.settings));
    setups.push_back(setup);
  }
  auto report = replay(options, inputs, setups, progress);
  progress.wipe();
  if (!report.ok()) return std::move(report).error();
  warn_of_fidelity(*report);
  E4R_CHECK(print(*report, options));
  return kDone;
}

std::function<Result<int>()> declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  declare_inputs(app, options->in);
  app.add_option("-p,--policy", options->policies, "policies, comma-separated (legacy,cr1.5)")
      ->type_name("POLICY[,POLICY...]");
  app.add_option("--write-image", options->write_image,
                 "write a sparse copy of IMAGE with the replay's block bitmaps (its inodes stay "
                 "the start image's)")
      ->type_name("OUT");
  app.add_flag("--force", options->force,
               "answer although the model follows less than 90 % of the recorded decisions");
  app.add_flag("--histogram", options->histogram, "free-extent histograms before and after");
  app.add_option("--html", options->html, "write the comparison as a page as well; -: instead")
      ->type_name("FILE");
  return [options] { return run(*options); };
}

}  // namespace

const Command& replay_command() {
  static const Command kCommand = {
      "replay", "what other allocator policies would have made of a trace",
      "  e4replay replay run.e4c                        what `e4replay record` wrote\n"
      "  e4replay replay start.img run.trace.zst\n"
      "  e4replay replay start.img run.trace.zst -p legacy,cr1.5,linear --histogram\n"
      "  e4replay replay start.img run.trace.zst -p cr1.5 --set mb_cr1_5_max_trim_order=6\n"
      "  e4replay replay start.img run.trace.zst -p linux-6.1,linux-6.12,linux-7.3\n"
      "  e4replay replay start.img run.e4t --json result.json\n",
      declare};
  return kCommand;
}

}  // namespace e4r::tools
