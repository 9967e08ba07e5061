// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <filesystem>

#include "app/setups.h"
#include "common/command.h"
#include "common/print_line.h"
#include "common/run.h"
#include "common/version.h"
#include "e4replay/options.h"
#include "plugin/load.h"
#include "sweep/ranking.h"
#include "sweep/store.h"
#include "sweep/sweeper.h"
#include "util/file.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::tools {
namespace cmd_sweep {
namespace {

struct Options {
  std::vector<std::string> captures;
  std::string policies = "legacy,cr1.5";
  std::vector<std::string> settings;
  std::string where;
  std::string directory;
  std::string points;
  std::string best = "mb_stats/extents_scanned";
  std::string html;
  std::size_t top = 20;
  unsigned threads = 0;
  bool resume = false;
  bool dry_run = false;
  bool force = false;
  bool no_progress = false;
  bool merge = false;
  std::string emit;
  std::uint64_t jobs = 16;
  std::string kernel_log;
};

// The parsed command line.
struct Wanted {
  sweep::Plan plan;
  sweep::PointRange range;
  const results::Row* metric = nullptr;
};

Result<Wanted> wanted_of(const Options& options) {
  sweep::PlanSpec spec;
  spec.captures = options.captures;
  spec.where = options.where;
  E4R_TRY(spec.policies, app::parse_policies(options.policies));
  for (const std::string& setting : options.settings) {
    auto axis = sweep::parse_axis(setting);
    if (!axis.ok()) return error("--set: {}", axis.error().message);
    spec.axes.push_back(*std::move(axis));
  }
  Wanted out;
  E4R_TRY(out.plan, sweep::make_plan(std::move(spec)));
  out.range = sweep::all_of(out.plan);
  if (!options.points.empty()) {
    auto range = sweep::parse_range(options.points, out.plan);
    if (!range.ok()) return error("--points: {}", range.error().message);
    out.range = *range;
  }
  auto metric = sweep::find_metric(options.best);
  if (!metric.ok()) return error("--best: {}", metric.error().message);
  out.metric = *metric;
  if (options.resume && options.directory.empty())
    return error("--resume needs the directory: give it with -o");
  return out;
}

// Returns for example "12 points of 16 combinations: 4 merged ..."
std::string overview(const Wanted& wanted) {
  const sweep::Plan& plan = wanted.plan;
  std::string text = fmt::format("{} points of {} combinations", format_count(plan.points.size()),
                                 format_count(plan.combinations));
  if (plan.rejected > 0) text += fmt::format(", {} not wanted", format_count(plan.rejected));
  if (plan.merged > 0)
    text += fmt::format(", {} the same as others (the policy does not have the tunable)",
                        format_count(plan.merged));
  if (wanted.range.count() != plan.points.size())
    text += fmt::format("; of these {} to {}", format_count(wanted.range.first),
                        format_count(wanted.range.last));
  return text + "\n";
}

std::string listing(const Wanted& wanted) {
  const sweep::Plan& plan = wanted.plan;
  std::string text = overview(wanted);
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    if (!wanted.range.holds(i)) continue;
    const sweep::Point& point = plan.points[i];
    const std::string settings = settings_text(plan, point);
    text += fmt::format("{} {} {}{}{}\n", i + 1, escape(plan.spec.captures[point.capture]),
                        point.policy->name, settings.empty() ? "" : " ", settings);
  }
  return text;
}

void tell_found(const Options& options, const Wanted& wanted, const sweep::Finished& found) {
  if (found.count > 0)
    print_line(stderr, "{}: contains {} of {} points", options.directory, format_count(found.count),
               format_count(wanted.range.count()));
  if (found.damaged > 0)
    warn(fmt::format("{}: damaged or truncated lines: {}; missing points run again",
                     options.directory, format_count(found.damaged)));
}

int tell_stopped(const Options& options, const Wanted& wanted, std::uint64_t left) {
  print_line(stderr, "e4replay: stopped with {} of {} points left; {}", format_count(left),
             format_count(wanted.range.count()),
             options.directory.empty() ? "nothing is kept; with -o DIR, finished points are kept"
                                       : "continue with the same command and --resume");
  return kStopped;
}

Result<int> tell_result(const Options& options, const Outputs& outputs, const Wanted& wanted,
                        const sweep::Figures& figures) {
  const sweep::Plan& plan = wanted.plan;
  if (!options.html.empty())
    E4R_CHECK(write_output(sweep::sweep_html(plan, figures, *wanted.metric),
                           outputs.name_of(options.html)));
  if (options.html == "-") return kDone;
  E4R_CHECK(write_output(overview(wanted) + "\n" +
                             ranking_text(plan, figures, *wanted.metric, options.top) + "\n" +
                             sweep::advice_text(plan, figures),
                         "-"));
  return kDone;
}

// Declares the files that a sweep writes. The directory need not exist yet.
Status declare_writes(const Options& options, Outputs& outputs) {
  std::error_code failed;
  if (std::filesystem::is_directory(options.directory, failed))
    for (const std::string& file : sweep::Store::files(options.directory))
      E4R_CHECK(outputs.writes(file));
  E4R_CHECK(outputs.writes(options.kernel_log));
  return outputs.writes(options.html);
}

Result<Outputs> declare_files(const Options& options, const sweep::PlanSpec& spec) {
  Outputs outputs;
  for (const std::string& word : options.captures) {
    E4R_TRY(const app::CaptureName name, app::parse_capture(word));
    app::declare_reads(name, outputs);
  }
  app::declare_reads(spec.policies, outputs);
  E4R_CHECK(declare_writes(options, outputs));
  return outputs;
}

Result<Outputs> declare_files_of_merge(const Options& options) {
  Outputs outputs;
  for (const std::string& part : options.captures)
    for (const std::string& file : sweep::Store::files(part)) outputs.reads(file);
  E4R_CHECK(declare_writes(options, outputs));
  return outputs;
}

Result<int> sweep_all(const Options& options, Wanted wanted) {
  E4R_TRY(const Outputs outputs, declare_files(options, wanted.plan.spec));
  Progress progress(!options.no_progress);
  E4R_TRY(const auto sweeper,
          sweep::Sweeper::open(
              {version_line(), options.directory, options.resume, options.force, options.threads},
              wanted.plan, wanted.range, *wanted.metric, {progress, warn}));
  tell_found(options, wanted, sweeper->finished());
  E4R_CHECK(sweeper->follow());
  E4R_CHECK(sweeper->run(stop_on_signals()));
  if (sweeper->left() > 0) return tell_stopped(options, wanted, sweeper->left());
  wanted.plan = sweeper->plan();
  return tell_result(options, outputs, wanted, sweeper->figures());
}

// Returns the arguments of the sweep, quoted for a shell, without the arguments that differ between
// jobs.
std::string command_of(const Options& options) {
  std::string out = "sweep";
  for (const std::string& capture : options.captures) out += " " + shell_quote(capture);
  out += " -p " + shell_quote(options.policies);
  for (const std::string& setting : options.settings) out += " --set " + shell_quote(setting);
  if (!options.where.empty()) out += " --where " + shell_quote(options.where);
  return out + (options.force ? " --force" : "");
}

Result<int> emit(const Options& options, const Wanted& wanted) {
  if (options.directory.empty()) return usage_error("--emit needs the parts' directory: -o DIR");
  if (!options.points.empty()) return usage_error("--emit and --points: give one of them");
  if (options.dry_run) return usage_error("--emit and --dry-run: give one of them");
  if (options.resume) return usage_error("--emit and --resume: the jobs resume by themselves");
  if (!options.html.empty()) return usage_error("--emit prints a script: give --html to --merge");
  if (options.jobs == 0) return usage_error("--jobs 0: give at least 1");
  const std::uint64_t points = wanted.range.count();
  const sweep::Jobs jobs = {command_of(options), options.best, options.directory, points,
                            std::min(options.jobs, points)};
  E4R_CHECK(write_output(
      options.emit == "slurm" ? sweep::slurm_script(jobs) : sweep::parallel_script(jobs), "-"));
  return kDone;
}

Result<int> merge(const Options& options) {
  if (options.directory.empty()) return usage_error("--merge needs a directory to write: -o DIR");
  if (!options.settings.empty() || !options.where.empty() || !options.points.empty() ||
      !options.emit.empty() || options.dry_run || options.force)
    return usage_error("--merge takes directories, -o, --best, --top, --html and --resume");
  const auto metric = sweep::find_metric(options.best);
  if (!metric.ok()) return usage_error("--best: " + metric.error().message);
  E4R_CHECK(sweep::Store::check(options.directory, options.resume));
  E4R_TRY(const Outputs outputs, declare_files_of_merge(options));
  E4R_TRY(const sweep::Joined joined, sweep::join(options.captures, version_line()));
  const sweep::Lines& lines = joined.finished.lines;
  if (const std::string missing = sweep::missing_points(lines); !missing.empty())
    return error("{} of {} points are missing: {}; run their jobs again",
                 format_count(lines.size() - joined.finished.count), format_count(lines.size()),
                 missing);
  const Wanted wanted = {joined.plan, sweep::all_of(joined.plan), *metric};
  E4R_TRY(sweep::Store store, sweep::Store::begin(options.directory, joined.manifest, wanted.plan,
                                                  wanted.range, options.resume));
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (store.finished().lines[i] != lines[i]) E4R_CHECK(store.add(i, lines[i]));
  const sweep::Figures figures = sweep::figures_of(lines);
  E4R_CHECK(write_results(store, wanted.plan, figures, **metric));
  return tell_result(options, outputs, wanted, figures);
}

Result<int> run(const Options& options) {
  if (options.merge) return merge(options);
  const auto wanted = wanted_of(options);
  if (!wanted.ok()) return usage_error(wanted.error().message);
  if (!options.emit.empty()) return emit(options, *wanted);
  if (options.dry_run) {
    if (!options.html.empty())
      return usage_error("--dry-run replays nothing, so there is no page: leave out --html");
    print_report(listing(*wanted));
    return kDone;
  }
  if (!options.directory.empty()) E4R_CHECK(sweep::Store::check(options.directory, options.resume));
  return sweep_all(options, *wanted);
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto o = std::make_shared<Options>();
  app.add_option("capture", o->captures,
                 "captures (`e4replay record`), or start image and trace, separated by a colon")
      .required()
      .takes_the_rest()
      .type_name("FILE.e4c|IMAGE:TRACE");
  app.add_option("-p,--policy", o->policies, "policies, comma-separated (legacy,cr1.5)")
      .type_name("POLICY[,POLICY...]");
  app.add_option("--set", o->settings,
                 "values of a tunable: a list of V, A..B and A..B:STEP; may be repeated")
      .type_name("NAME=VALUES")
      .may_repeat();
  app.add_option("--where", o->where,
                 "run only points for which this holds: comparisons of tunables, policy and "
                 "capture with && || ! ( )")
      .type_name("EXPR");
  app.add_option("-o,--output", o->directory, "directory for the results (default: table only)")
      .type_name("DIR");
  app.add_flag("--resume", o->resume, "continue the sweep in the directory");
  app.add_option("--points", o->points, "only these points (--dry-run numbers them)")
      .type_name("A-B");
  app.add_option("--best", o->best, "figure that orders the table (mb_stats/extents_scanned)")
      .type_name("METRIC");
  app.add_option("--top", o->top, "points of each capture in the table (20); 0: all")
      .type_name("N");
  app.add_option("--html", o->html, "also write the result as a page; with -, instead of the text")
      .type_name("FILE");
  app.add_flag("--dry-run", o->dry_run, "list the points and end");
  app.add_option("--emit", o->emit, "print a script that runs the sweep in jobs: slurm or parallel")
      .type_name("KIND")
      .one_of({"slurm", "parallel"});
  app.add_option("--jobs", o->jobs, "number of jobs for --emit (16)").type_name("N");
  app.add_flag("--merge", o->merge, "join the parts in these directories into one result");
  app.add_flag("--force", o->force,
               "give results even if the model follows less than 90 % of the recorded decisions");
  app.add_option("--threads", o->threads, "threads to use (default: one per CPU)").type_name("N");
  app.add_flag("--no-progress", o->no_progress, "no progress line on the terminal");
  declare_kernel_log(app, o->kernel_log);
  return [o] {
    std::ranges::transform(o->captures, o->captures.begin(), find_capture);
    return with_kernel_log(o->kernel_log, [&] { return run(*o); });
  };
}

}  // namespace
}  // namespace cmd_sweep

const Command& sweep_command() {
  static const Command kCommand = {
      "sweep", "replay captures under many policies and tunables at once",
      "  e4replay sweep run.e4c -p legacy,cr1.5 --set mb_order2_req=0..6 -o results\n"
      "  e4replay sweep run.e4c --set mb_cr1_5_max_trim_order=0..7 --html trim.html\n"
      "  e4replay sweep run.e4c -p cr1.5 --set mb_max_to_scan=50,100,200 \\\n"
      "      --set mb_cr1_5_max_trim_order=0..8:2 --best files/extents\n"
      "  e4replay sweep a.e4c start.img:run.trace.zst -p legacy,linux-7.3 --dry-run\n"
      "  e4replay sweep run.e4c --set mb_min_to_scan=5..50:5 --set mb_max_to_scan=20..200:20 \\\n"
      "      --where 'mb_min_to_scan < mb_max_to_scan || policy == legacy'\n"
      "  e4replay sweep run.e4c -p legacy,cr1.5 --set mb_order2_req=0..6 -o results --resume\n"
      "  e4replay sweep run.e4c --set mb_max_to_scan=1..400 -o parts --emit slurm --jobs 50 "
      ">job.sh\n"
      "  e4replay sweep --merge parts/part-* -o results\n"
      "Exit status: 130 if a signal stopped it; --resume continues.\n",
      cmd_sweep::declare};
  return kCommand;
}

}  // namespace e4r::tools
