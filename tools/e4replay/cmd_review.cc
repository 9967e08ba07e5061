// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <iterator>

#include "app/fail_if.h"
#include "app/inputs.h"
#include "common/command.h"
#include "common/print_line.h"
#include "common/version.h"
#include "e4replay/convert_capture.h"
#include "e4replay/options.h"
#include "review/review.h"
#include "review/words.h"
#include "util/file.h"
#include "util/output.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::tools {
namespace cmd_review {
namespace {

struct Options : SideArguments {
  std::vector<std::string> captures;
  std::string corpus;
  double aged = 0;  // turnovers
  std::string size = "10G";
  std::string profiles = "agrawal,meyer,wang-lanl";
  std::uint64_t seed = 1;
  bool force = false;
  unsigned repeats = 3;
  std::string json, html;
  unsigned threads = 0;
  bool no_progress = false;
  std::vector<std::string> fail_if;
  std::string kernel_log;
};

std::vector<std::string> names_of(const std::string& list) {
  std::vector<std::string> out;
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');) out.push_back(name);
  return out;
}

Result<std::vector<age::Profile>> find_profiles(const std::vector<std::string>& names) {
  std::vector<age::Profile> out;
  for (const std::string& name : names) {
    E4R_TRY(age::Profile profile, age::find_profile(name));
    out.push_back(std::move(profile));
  }
  return out;
}

// All captures to review; the captures of the directory come first.
Result<std::vector<app::CaptureName>> captures_of(const Options& options) {
  std::vector<std::string> words;
  if (!options.corpus.empty()) {
    E4R_TRY(words, captures_in(options.corpus));
  }
  std::ranges::transform(options.captures, std::back_inserter(words), find_capture);
  std::vector<app::CaptureName> out;
  for (const std::string& word : words) {
    E4R_TRY(app::CaptureName name, app::parse_capture(word));
    out.push_back(std::move(name));
  }
  return out;
}

// The names that conditions may use: the figures of --with and the figures of --base.
app::FigureNames figure_names(const review::ReviewOptions& chosen) {
  app::FigureNames out;
  for (const char* side : {"", "with:", "base:"})
    app::add_names(out, side, results::Reporter::review);
  out.word = "capture";
  out.cases = review::case_names(chosen);
  return out;
}

// Returns the cases that were compared. Conditions are applied only to these.
std::vector<app::FigureCase> figure_cases(const review::Review& review) {
  const std::size_t rows = results::rows(results::Reporter::review).size();
  std::vector<app::FigureCase> out;
  for (const review::Case& one : review.cases) {
    if (!one.refused.empty()) continue;
    app::FigureCase& made = out.emplace_back();
    made.name = one.name;
    made.figures.resize(3 * rows);
    const auto put = [&](const review::Figure& figure, const results::Value& with) {
      made.figures[figure.row->index] = made.figures[rows + figure.row->index] = with;
      made.figures[2 * rows + figure.row->index] = figure.base;
    };
    for (const review::Figure& figure : one.figures) put(figure, figure.with);
    // If both sides decide the same, their times differ only by noise, so both get the time of
    // --base.
    for (const review::Figure& figure : one.alike_times) put(figure, figure.base);
  }
  return out;
}

// Checks the command line and fills `chosen`.
Status choose(const Options& options, review::ReviewOptions& chosen) {
  E4R_CHECK(choose_sides(options, chosen.base, chosen.with));
  if (!(options.aged >= 0) || options.aged > 1000)
    return error("--aged {}: give how many times the file system is written, up to 1000",
                 options.aged);
  if (options.captures.empty() && options.corpus.empty() && options.aged == 0)
    return error(
        "there is nothing to review: give captures, --corpus DIR or --aged N (the corpus is not "
        "installed with this program)");
  if (options.repeats == 0 || options.repeats > 100)
    return error("--repeats {}: give 1 to 100 runs", options.repeats);
  chosen.repeats = options.repeats;
  chosen.force = options.force;
  chosen.threads = options.threads;
  return {};
}

Result<Outputs> declare_files(const Options& options, const review::ReviewOptions& chosen,
                              const std::vector<std::string>& profiles) {
  Outputs outputs;
  for (const app::CaptureName& name : chosen.captures) app::declare_reads(name, outputs);
  declare_side_reads(chosen.base, chosen.with, outputs);
  for (const std::string& profile : profiles) outputs.reads(profile);
  E4R_CHECK(outputs.writes(options.json));
  E4R_CHECK(outputs.writes(options.kernel_log));
  E4R_CHECK(outputs.writes(options.html));
  return outputs;
}

// The command, quoted for a shell, without the options for output documents.
std::vector<std::string> command_of(const Options& options) {
  std::vector<std::string> out = {"e4replay", "review"};
  const auto add = [&out](const char* option, const std::string& value) {
    out.push_back(fmt::format("{} {}", option, shell_word(value)));
  };
  add("--base", options.base);
  add("--with", options.with);
  for (const std::string& setting : options.settings) add("--set", setting);
  for (const std::string& setting : options.with_settings) add("--set-with", setting);
  if (options.aged > 0) {
    add("--aged", fmt::format("{}", options.aged));
    add("--size", options.size);
    add("--profiles", options.profiles);
    add("--seed", std::to_string(options.seed));
  }
  if (options.force) out.emplace_back("--force");
  if (options.repeats != Options().repeats) add("--repeats", std::to_string(options.repeats));
  if (!options.corpus.empty()) add("--corpus", options.corpus);
  for (const std::string& capture : options.captures) out.push_back(shell_word(capture));
  return out;
}

Status print(const review::Review& review, const Options& options, const Outputs& outputs) {
  const review::ReviewOrigin origin = {version_line(), command_of(options)};
  for (const review::Caveat& caveat : review.caveats)
    warn(fmt::format("{} (in {}: {})", caveat.text, caveat.of.size(),
                     review::names_text(review, caveat.of)));
  if (!options.json.empty())
    E4R_CHECK(write_output(review_json(review, origin), outputs.name_of(options.json)));
  if (!options.html.empty())
    E4R_CHECK(write_output(review_html(review, origin), outputs.name_of(options.html)));
  if (options.json == "-" || options.html == "-") return {};
  print_report(review_text(review, origin));
  return {};
}

// Returns the exit status, and prints why it is not 0.
Result<int> status_of(const review::Review& review, const Options& options,
                      const review::ReviewOptions& chosen) {
  bool failed = false;
  for (const review::Change change : {review::Change::worse, review::Change::better}) {
    const std::string text = review::failures_text(review, change);
    if (text.empty()) continue;
    failed = true;
    print_line(stderr, "e4replay: {}", text);
  }
  if (failed) return kPolicyFailed;
  if (std::ranges::all_of(review.cases, [](const auto& one) { return !one.refused.empty(); }))
    return error("nothing was compared: {}: {}", review.cases.front().name,
                 review.cases.front().refused);
  E4R_TRY(const std::string failure,
          app::find_failure(options.fail_if, figure_names(chosen), figure_cases(review)));
  return status_of_conditions(failure);
}

Result<int> run(const Options& options) {
  review::ReviewOptions chosen;
  if (const Status status = choose(options, chosen); !status.ok())
    return usage_error(status.error().message);
  const std::vector<std::string> names = names_of(options.profiles);
  std::vector<age::Profile> profiles;
  if (options.aged > 0) {
    auto found = find_profiles(names);
    if (!found.ok()) return usage_error("--profiles: " + found.error().message);
    profiles = *std::move(found);
    if (const auto size = parse_start_size(options.size); !size.ok())
      return usage_error("--size " + size.error().message);
  }
  E4R_TRY(chosen.captures, captures_of(options));
  E4R_TRY(const Outputs outputs, declare_files(options, chosen, names));
  SourceImage start;
  if (!profiles.empty()) {
    E4R_TRY(start, SourceImage::make(options.size, temporary_directory()));
  }
  for (age::Profile& profile : profiles)
    chosen.ageing.push_back({std::move(profile),
                             start.path(),
                             options.size,
                             {.utilisation = 0.8, .turnover = options.aged},
                             options.seed});
  if (const Status known = app::check_conditions(options.fail_if, figure_names(chosen));
      !known.ok())
    return usage_error(known.error().message);
  Progress progress(!options.no_progress);
  E4R_TRY(const review::Review result, review::review(chosen, {progress, warn}));
  E4R_CHECK(print(result, options, outputs));
  return status_of(result, options, chosen);
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto o = std::make_shared<Options>();
  app.add_option("capture", o->captures,
                 "captures (`e4replay record`), or start image and trace, separated by a colon")
      .takes_the_rest()
      .type_name("FILE.e4c|IMAGE:TRACE");
  declare_sides(app, *o, "the policy with the change");
  app.add_option("--corpus", o->corpus,
                 "review all captures of this directory (default: the corpus of e4replay, if there "
                 "is nothing else to review)")
      .type_name("DIR");
  declare_side_settings(app, *o);
  app.add_option("--aged", o->aged,
                 "also age file systems, until they have been written this many times (0)")
      .type_name("N");
  app.add_option("--size", o->size, "size of the aged file systems (10G)").type_name("SIZE");
  app.add_option("--profiles", o->profiles,
                 "profiles of the aged file systems, comma-separated (agrawal,meyer,wang-lanl)")
      .type_name("PROFILE[,PROFILE...]");
  app.add_option("--seed", o->seed, "seed of the ageing (1)").type_name("N");
  app.add_flag("--force", o->force,
               "compare also where the model follows less than 90 % of the recorded decisions");
  app.add_option("--repeats", o->repeats,
                 "runs of each kernel, in turn (3); if both decide differently, a time is the "
                 "median of these runs")
      .type_name("N");
  declare_fail_if(app, o->fail_if);
  app.add_option("--json", o->json,
                 "also write JSON to FILE; with -, print JSON instead of the text")
      .type_name("FILE");
  app.add_option("--html", o->html, "also write the review as a page; with -, instead of the text")
      .type_name("FILE");
  app.add_option("--threads", o->threads, "threads to use (default: one per CPU)").type_name("N");
  app.add_flag("--no-progress", o->no_progress, "no progress line on the terminal");
  declare_kernel_log(app, o->kernel_log);
  return [o] {
    if (o->captures.empty() && o->corpus.empty() && o->aged == 0) o->corpus = find_corpus();
    return with_kernel_log(o->kernel_log, [&] { return run(*o); });
  };
}

}  // namespace
}  // namespace cmd_review

const Command& review_command() {
  static const Command kCommand = {
      "review", "one policy against another, as a section for a cover letter",
      "  e4replay review --base linux-6.12.77 --with linux-7.3 run.e4c\n"
      "  e4replay review --base kernel:stock.uml --with kernel:mine.uml\n"
      "  e4replay review --base kernel:stock.uml --with kernel:mine.uml --corpus captures\n"
      "  e4replay review --base legacy --with cr1.5 --corpus captures --aged 5 --html review.html\n"
      "  e4replay review --base linux-7.3 --with linux-7.3 --aged 2 \\\n"
      "      --set-with mb_best_avail_max_trim_order=0\n",
      cmd_review::declare};
  return kCommand;
}

}  // namespace e4r::tools
