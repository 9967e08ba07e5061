// SPDX-License-Identifier: GPL-2.0-or-later
#include <sstream>

#include "common/command.h"
#include "common/print_line.h"
#include "common/run.h"
#include "common/version.h"
#include "e4replay/convert_capture.h"
#include "e4replay/options.h"
#include "guest/kernel_file.h"
#include "hunt/hunt.h"
#include "util/file.h"
#include "util/output.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::tools {
namespace cmd_hunt {
namespace {

constexpr std::uint64_t kTrials = 2000;
constexpr const char* kLargest = "4G";
constexpr std::uint64_t kUnset = UINT64_MAX;

struct Options : SideArguments {
  std::string objective = "steps";
  std::string output;
  std::string tunables = "mb_stripe";
  std::string start;
  std::string largest;  // kLargest if empty
  std::uint64_t least_requests = 100;
  std::uint64_t trials = kUnset;  // if not given: kTrials, or as many as the time allows
  std::string duration;
  std::uint64_t shrink_trials = 1000;
  std::uint64_t seed = 1;
  std::string json;
  unsigned threads = 0;
  bool no_progress = false;
  std::string kernel_log;
};

std::string command_of(const Options& options) {
  std::string out = "e4replay hunt";
  const auto add = [&out](const char* option, const std::string& value) {
    out += fmt::format(" {} {}", option, shell_word(value));
  };
  add("--base", options.base);
  add("--with", options.with);
  add("--objective", options.objective);
  for (const std::string& setting : options.settings) add("--set", setting);
  for (const std::string& setting : options.with_settings) add("--set-with", setting);
  add("--tunables", options.tunables);
  if (options.start.empty())
    add("--largest", options.largest.empty() ? kLargest : options.largest);
  else
    add("--start", options.start);
  add("--least-requests", std::to_string(options.least_requests));
  if (options.trials != kUnset || options.duration.empty())
    add("--trials", std::to_string(options.trials == kUnset ? kTrials : options.trials));
  if (!options.duration.empty()) add("--for", options.duration);
  add("--shrink-trials", std::to_string(options.shrink_trials));
  add("--seed", std::to_string(options.seed));
  add("-o", options.output);
  return out;
}

Status choose_tunables(const Options& options, hunt::HuntOptions& chosen) {
  std::istringstream names(options.tunables);
  for (std::string name; std::getline(names, name, ',');) {
    for (const auto* settings : {&options.settings, &options.with_settings})
      for (const std::string& setting : *settings)
        if (setting.starts_with(name + "="))
          return error("{} is set: leave it out of --tunables {}", name, options.tunables);
    chosen.tunables.push_back(std::move(name));
  }
  if (const auto space = hunt::space_of(chosen); !space.ok())
    return error("--tunables: {}", space.error().message);
  return {};
}

// Chooses the file systems to start from.
Status choose_starts(const Options& options, hunt::HuntOptions& chosen) {
  chosen.start = options.start;
  if (!options.start.empty()) {
    if (!options.largest.empty())
      return error("--largest {}: --start {} is the only file system: leave one of them out",
                   options.largest, options.start);
    return {};
  }
  const auto largest = parse_size(options.largest.empty() ? kLargest : options.largest);
  if (!largest.ok()) return error("--largest: {}", largest.error().message);
  chosen.largest = *largest;
  if (const auto space = hunt::Space::create(*largest, {}); !space.ok())
    return error("--largest: {}", space.error().message);
  return {};
}

// Chooses how long the hunt lasts.
Status choose_trials(const Options& options, hunt::HuntOptions& chosen) {
  constexpr std::uint64_t kMostTrials = 10'000'000;
  const bool given = options.trials != kUnset;
  if (given && (options.trials == 0 || options.trials > kMostTrials))
    return error("--trials {}: give 1 to {}", options.trials, kMostTrials);
  chosen.search.trials = given ? options.trials : kTrials;
  if (options.duration.empty()) return {};
  const auto most = parse_duration(options.duration);
  if (!most.ok()) return error("--for: {}", most.error().message);
  if (most->count() == 0) return error("--for {}: no time to hunt", options.duration);
  chosen.most = *most;
  if (!given) chosen.search.trials = kMostTrials;
  return {};
}

// Checks the command line and fills `chosen`.
Status choose(const Options& options, hunt::HuntOptions& chosen) {
  E4R_CHECK(choose_sides(options, chosen.search.base, chosen.search.with));
  if (options.output.empty()) return error("-o is missing: where does the capture go?");
  const auto objective = hunt::find_objective(options.objective);
  if (!objective.ok()) return error("--objective: {}", objective.error().message);
  chosen.search.objective = *objective;
  for (const review::Side* side : {&chosen.search.base, &chosen.search.with})
    if ((*objective)->is_time() && !guest::is_kernel(*side->policy))
      return error("--objective {}: models have no times: give kernel:FILE for {}",
                   options.objective, side->policy->name);
  E4R_CHECK(choose_starts(options, chosen));
  E4R_CHECK(choose_tunables(options, chosen));
  E4R_CHECK(choose_trials(options, chosen));
  chosen.search.least_requests = options.least_requests;
  chosen.search.seed = options.seed;
  chosen.search.threads = options.threads;
  chosen.shrink_trials = options.shrink_trials;
  chosen.command = command_of(options);
  chosen.program = version_line();
  return {};
}

Result<Outputs> declare_files(const Options& options, const hunt::HuntOptions& chosen) {
  Outputs outputs;
  outputs.reads(options.start);
  declare_side_reads(chosen.search.base, chosen.search.with, outputs);
  E4R_CHECK(outputs.writes(options.output, OutputKind::file));
  E4R_CHECK(outputs.writes(options.json));
  E4R_CHECK(outputs.writes(options.kernel_log));
  return outputs;
}

// Returns the exit status, and prints why it is not 0.
int status_of(const hunt::Hunt& hunt) {
  const auto& [base, with] = hunt.found.tally.failed;
  if (with > 0)
    print_line(stderr, "e4replay: {} failed: {}", hunt.search.with.policy->name,
               hunt.found.best->trial.failed[1]);
  if (base > 0)
    print_line(stderr, "e4replay: {} failed: {}", hunt.search.base.policy->name,
               hunt.found.tally.base_failure);
  return with + base > 0 ? kPolicyFailed : kDone;
}

Result<int> run(const Options& options) {
  E4R_CHECK(hunt::check_search());
  hunt::HuntOptions chosen;
  if (const Status status = choose(options, chosen); !status.ok())
    return usage_error(status.error().message);
  E4R_TRY(const Outputs outputs, declare_files(options, chosen));
  chosen.output = outputs.name_of(options.output);
  std::vector<SourceImage> images;  // `make` is called by one thread at a time
  const auto make = [&images](std::uint64_t bytes,
                              std::uint32_t block_size) -> Result<std::string> {
    E4R_TRY(SourceImage image,
            SourceImage::make(std::to_string(bytes), temporary_directory(), block_size, true));
    images.push_back(std::move(image));
    return images.back().path();
  };
  Progress progress(!options.no_progress);
  chosen.search.stop = &stop_on_signals();
  const auto hunted = hunt::hunt(chosen, make, {progress, warn});
  // The signal also ends mke2fs, whose failure is then not worth reporting.
  if (!hunted.ok() && *chosen.search.stop) {
    print_line(stderr, "e4replay: stopped: no capture was written");
    return kStopped;
  }
  if (!hunted.ok()) return hunted.error();
  const hunt::HuntOrigin origin = {chosen.program, chosen.command, options.output};
  if (!options.json.empty())
    E4R_CHECK(write_output(hunt_json(*hunted, origin), outputs.name_of(options.json)));
  if (options.json != "-") print_report(hunt_text(*hunted, origin));
  return status_of(*hunted);
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto o = std::make_shared<Options>();
  declare_sides(app, *o, "the policy that the hunt tries to show to be worse");
  app.add_option("-o,--output", o->output, "the capture of the case to write")
      .type_name("FILE.e4c");
  app.add_option("--objective", o->objective,
                 "what should get worse: steps, ns, or a figure of a review (steps)")
      .type_name("FIGURE");
  declare_side_settings(app, *o);
  app.add_option(
         "--tunables", o->tunables,
         "tunables that the hunt chooses for both, comma-separated (mb_stripe); empty: none")
      .type_name("NAME[,NAME...]");
  app.add_option("--start", o->start,
                 "the file system of all cases, read only: an image, a block device or a capture's "
                 "start image")
      .type_name("IMAGE");
  app.add_option("--least-requests", o->least_requests,
                 "leave out cases with fewer requests to the allocator (100)")
      .type_name("N");
  app.add_option("--largest", o->largest, "size of the largest file system (4G)").type_name("SIZE");
  app.add_option("--trials", o->trials, "how many cases the hunt tries (2000)").type_name("N");
  app.add_option("--for", o->duration,
                 "end after this time (90s, 10m); --trials is then 10000000 unless given")
      .type_name("TIME");
  app.add_option("--shrink-trials", o->shrink_trials,
                 "how many more it tries to make the worst case smaller (1000)")
      .type_name("N");
  app.add_option("--seed", o->seed, "seed of all random choices (1)").type_name("N");
  app.add_option("--json", o->json,
                 "also write JSON to FILE; with -, print JSON instead of the text")
      .type_name("FILE");
  app.add_option("--threads", o->threads, "threads to use (default: one per CPU)").type_name("N");
  app.add_flag("--no-progress", o->no_progress, "no progress line on the terminal");
  declare_kernel_log(app, o->kernel_log);
  return [o] { return with_kernel_log(o->kernel_log, [&] { return run(*o); }); };
}

}  // namespace
}  // namespace cmd_hunt

const Command& hunt_command() {
  static const Command kCommand = {
      "hunt", "look for the case in which one policy is worst compared with another",
      "  e4replay hunt --base legacy --with linux-6.12.77 -o worst.e4c\n"
      "  e4replay hunt --base linux-6.12.77 --with linux-7.3 --objective files/extents -o "
      "worst.e4c\n"
      "  e4replay hunt --base kernel:stock.uml --with kernel:mine.uml --objective ns \\\n"
      "      --trials 200 -o worst.e4c\n"
      "  e4replay hunt --start disk.img --base legacy --with linux-6.12.77 -o worst.e4c\n"
      "  e4replay replay worst.e4c -p legacy,linux-6.12.77 --first-difference\n",
      cmd_hunt::declare};
  return kCommand;
}

}  // namespace e4r::tools
