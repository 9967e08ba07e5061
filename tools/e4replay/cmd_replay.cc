// SPDX-License-Identifier: GPL-2.0-or-later
#include <filesystem>

#include "app/comparison.h"
#include "app/fail_if.h"
#include "app/setups.h"
#include "app/workload.h"
#include "common/command.h"
#include "common/print_line.h"
#include "common/version.h"
#include "e4replay/options.h"
#include "exports/decisions.h"
#include "image/bitmaps.h"
#include "replay/engine.h"
#include "util/file.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::tools {
namespace cmd_replay {
namespace {

struct Options : InputArguments {
  std::string workload;  // used instead of a trace
  std::string html;
  std::string decisions;
  std::string perfetto;
  std::string write_image;
  bool histogram = false;
  bool all = false;
  std::string kernel_log;
};

Status print(const report::ReplayReport& report, const Options& options, const Outputs& outputs) {
  if (!options.json.empty())
    E4R_CHECK(write_output(replay_json(report), outputs.name_of(options.json)));
  if (!options.html.empty())
    E4R_CHECK(write_output(replay_html(report), outputs.name_of(options.html)));
  if (options.json == "-" || options.html == "-") return {};
  print_report(replay_text(report, {options.histogram, options.all}));
  return {};
}

// Writes the start image with the block bitmaps at the end of the replay.
Status write_image(const OutputName& out, const app::Inputs& inputs, const replay::Engine& engine) {
  std::vector<std::uint64_t> words;
  return image::write_with_bitmaps(inputs.image_path, out,
                                   [&](GroupNumber group) -> std::span<const std::uint64_t> {
                                     if (engine.state().group(group).corrupt) return {};
                                     engine.state().settled_words(group, words);
                                     return words;
                                   });
}

// Returns a series of requests for the recorded kernel and for each policy. The series refer to
// strings in `names`.
std::vector<exports::Series> series_of(const app::Comparison& comparison,
                                       std::vector<std::string>& names) {
  for (const results::Outcome& run : comparison.report.runs)
    names.push_back(valid_utf8(run.policy->name));
  std::vector<exports::Series> out = {{0, "recorded", &comparison.recorded}};
  for (std::size_t i = 0; i < names.size(); ++i)
    out.push_back({static_cast<std::uint32_t>(i + 1), names[i],
                   comparison.runs[i].engine->find<replay::DecisionRows>()});
  return out;
}

// Returns the groups' free space at the end of a series, or null if it is unknown.
const std::vector<stats::GroupFree>* end_of(const report::ReplayReport& report, std::size_t run) {
  if (run > 0) return &report.runs[run - 1].free.space.groups;
  return report.kernel && report.kernel->run ? &report.kernel->run->free.space.groups : nullptr;
}

// Writes the table of decisions and the timeline.
Status write_exports(const Options& options, const app::Comparison& comparison,
                     const Outputs& outputs, Progress& progress) {
  std::vector<std::string> names;
  const std::vector<exports::Series> series = series_of(comparison, names);
  if (!options.decisions.empty()) {
    progress.show("writing " + options.decisions);
    E4R_CHECK(exports::write_decisions(outputs.name_of(options.decisions), series,
                                       comparison.report, version_line()));
  }
  if (!options.perfetto.empty()) {
    progress.show("writing " + options.perfetto);
    std::vector<exports::Timeline> timelines;
    for (std::size_t i = 0; i < series.size(); ++i)
      timelines.push_back({series[i], &comparison.spaces[i], end_of(comparison.report, i)});
    E4R_CHECK(exports::write_perfetto(outputs.name_of(options.perfetto), timelines,
                                      comparison.report.start.free.space.groups));
  }
  progress.wipe();
  return {};
}

// Refuses to overwrite an existing file: a user may take --decisions for the option that names an
// input file.
Status check_new(const std::string& table) {
  std::error_code ec;
  if (table.empty() || !std::filesystem::is_regular_file(table, ec)) return {};
  if (std::filesystem::file_size(table, ec) == 0) return {};
  return error(
      "{}: exists already, and --decisions would overwrite it: give another name, or remove it",
      table);
}

Result<Outputs> declare_files(const Options& options) {
  Outputs outputs;
  declare_reads(options.open, outputs);
  if (app::is_workload_file(options.workload)) outputs.reads(options.workload);
  app::declare_reads(options.spec.policies, outputs);
  E4R_CHECK(outputs.writes(options.json));
  E4R_CHECK(outputs.writes(options.kernel_log));
  E4R_CHECK(outputs.writes(options.html));
  E4R_CHECK(outputs.writes(options.decisions, exports::kind_of(options.decisions)));
  E4R_CHECK(check_new(options.decisions));
  if (!options.perfetto.empty())
    if (const Status built = exports::check_perfetto(); !built.ok())
      return error("--perfetto: {}", built.error().message);
  E4R_CHECK(outputs.writes(options.perfetto));
  E4R_CHECK(outputs.writes(options.write_image, OutputKind::file));
  return outputs;
}

// Completes `spec`, and checks options that depend on each other. An Error is a usage error.
Status resolve(Options& options) {
  app::RunSpec& spec = options.spec;
  if (!options.write_image.empty() && spec.policies.size() != 1)
    return error("--write-image needs a single policy: give it with -p");
  E4R_CHECK(tools::resolve(options));
  if (!options.workload.empty() && !options.open.trace.empty())
    return error("--workload replaces a trace: give only one of them");
  E4R_CHECK(app::check_conditions(options.fail_if, app::replay_names(spec)));
  spec.for_page = !options.html.empty();
  spec.spaces = !options.perfetto.empty();
  spec.rows = !options.decisions.empty() || !options.perfetto.empty();
  if (const Status status = exports::check_name(options.decisions); !status.ok())
    return error("--decisions {}", status.error().message);
  return {};
}

Result<app::Inputs> open(const Options& options, const app::Listener& listener) {
  if (options.workload.empty()) return open_inputs(options.open, listener);
  return app::make_inputs(
      options.open, {options.workload, app::maker_of(options.spec.policies), options.spec.settings},
      listener);
}

Result<int> answer(const Options& options) {
  E4R_TRY(const Outputs outputs, declare_files(options));
  Progress progress(!options.no_progress);
  const app::Listener listener = {progress, warn};
  E4R_TRY(const app::Inputs inputs, open(options, listener));
  E4R_TRY(const app::Comparison comparison, compare(options.spec, inputs, listener));
  if (!options.write_image.empty()) {
    progress.show("writing " + options.write_image);
    E4R_CHECK(
        write_image(outputs.name_of(options.write_image), inputs, *comparison.runs.front().engine));
    progress.wipe();
  }
  E4R_CHECK(write_exports(options, comparison, outputs, progress));
  E4R_CHECK(print(comparison.report, options, outputs));
  E4R_TRY(const std::string failure,
          app::find_replay_failure(options.fail_if, options.spec, comparison.report));
  return status_of_conditions(failure);
}

Result<int> run(Options& options) {
  if (const Status status = resolve(options); !status.ok())
    return usage_error(status.error().message);
  return answer(options);
}

Status take_files(const std::string& text, Options& options) {
  constexpr std::size_t kFiles = 10;  // if no number is given
  const auto number = text.empty() ? Result<std::uint64_t>(kFiles) : parse_u64(text);
  if (!number.ok() || *number == 0)
    return error(
        "--files: '{}' is not a number of files: give --files=20, or --files after the inputs",
        text);
  options.spec.files = *number;
  return {};
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto options = std::make_shared<Options>();
  declare_inputs(app, *options, Explain::policies_too);
  app::RunSpec& spec = options->spec;
  app.add_option("-p,--policy", spec.policies, app::parse_policies,
                 "policies, comma-separated (default: the recorded kernel's and its neighbours)")
      .type_name("POLICY[,POLICY...]");
  app.add_option("--write-image", options->write_image,
                 "write a sparse copy of IMAGE with the replay's block bitmaps (its inodes stay "
                 "the start image's)")
      .type_name("OUT");
  app.add_option(
         "--workload",
         [options](const std::string& text) -> Status {
           options->workload = text;
           return text.empty() ? error(
                                     "--workload: give words, such as 'files=100 size=64K', or "
                                     "FILE.fio")
                               : Status();
         },
         "instead of a trace: what this program would ask for, such as 'files=10000 "
         "size=64K writers=8', a profile of `age`, or an fio job file")
      .type_name("WORDS|FILE.fio");
  app.add_flag("--force", spec.force,
               "give results even if the model follows less than 90 % of the recorded decisions");
  app.add_flag("--all", options->all,
               "show every row of the table, even if it is the same in all columns");
  app.add_option(
         "--files", [options](const std::string& text) { return take_files(text, *options); },
         "list the N files with the most extents in any column (default: 10), with their paths if "
         "the image has inodes")
      .may_lack_value()
      .type_name("[N]");
  app.add_flag("--histogram", options->histogram, "free-extent histograms before and after");
  app.add_flag("--first-difference", spec.first_difference,
               "name the first decision in which each policy differs from the first policy");
  const DeclaredOption writers =
      app.add_option("--writers", spec.writers, app::parse_writers,
                     "simulate this many writers at once: requests per second, and waits for locks")
          .type_name("N[,N...]");
  app.add_option("--cpus", spec.cpus, app::parse_cpus,
                 "CPUs that they share (default: one for each writer)")
      .type_name("N")
      .needs(writers);
  const DeclaredOption think =
      app.add_option("--think", spec.pace.think_ns, app::parse_think,
                     "how long a writer thinks between an answer and its next request, on average "
                     "(default: as long as recorded)")
          .type_name("TIME")
          .needs(writers);
  app.add_option("--think-scale", spec.pace.scale, app::parse_think_scale,
                 "let a writer think this many times as long as recorded: 0.1 is ten times as fast")
      .type_name("F")
      .needs(writers)
      .excludes(think);
  app.add_option("--html", options->html,
                 "also write the comparison as a page; with -, instead of the text")
      .type_name("FILE");
  app.add_option("--decisions", options->decisions,
                 "also write a table of every decision, in the format given by the file name: .csv "
                 "or .sqlite")
      .type_name("FILE");
  app.add_option("--perfetto", options->perfetto,
                 "also write a trace for Perfetto: requests by thread, free space")
      .type_name("FILE");
  declare_kernel_log(app, options->kernel_log);
  return [options] { return with_kernel_log(options->kernel_log, [&] { return run(*options); }); };
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
      "  e4replay replay start.img run.trace.zst -p linux-6.1,linux-6.12.77,linux-7.3\n"
      "  e4replay replay start.img run.e4t --json result.json\n"
      "  e4replay replay start.img --workload 'files=10000 size=64K writers=8'\n",
      cmd_replay::declare};
  return kCommand;
}

}  // namespace e4r::tools
