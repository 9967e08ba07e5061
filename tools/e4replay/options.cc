// SPDX-License-Identifier: GPL-2.0-or-later
#include "e4replay/options.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>

#include "age/profile.h"
#include "allocator/policy.h"
#include "allocator/tunables.h"
#include "app/setups.h"
#include "common/command.h"
#include "common/command_line.h"
#include "common/print_line.h"
#include "guest/guest.h"
#include "record/recorder.h"
#include "record/tracer.h"
#include "results/rows.h"
#include "shrinker/status_cache.h"
#include "sweep/ranking.h"
#include "trace/inspection.h"
#include "trace/trace.h"
#include "util/file.h"
#include "util/units.h"

namespace e4r::tools {
namespace {

using completion::ValueCompletion;
using completion::Word;

std::vector<Word> policies() {
  std::vector<Word> out;
  for (const allocator::Policy* p : allocator::policies()) {
    out.push_back({std::string(p->name), std::string(p->summary)});
    for (const std::string_view other : allocator::other_names(*p))
      out.push_back({std::string(other), "= " + std::string(p->name)});
  }
  return out;
}

std::vector<Word> tunables() {
  std::vector<Word> out;
  for (const allocator::TunableInfo& info : allocator::tunable_table())
    out.push_back({std::string(info.name) + "=", std::string(info.meaning)});
  return out;
}

std::vector<Word> metrics() {
  std::vector<Word> out;
  for (const results::Row* row : sweep::metrics())
    out.push_back(
        {row->key, row->better == results::Better::lower ? "lower is better" : "higher is better"});
  return out;
}

std::vector<Word> models() {
  std::vector<Word> out;
  for (const shrinker::ReclaimModel& model : shrinker::models())
    out.push_back({std::string(model.name), std::string(model.summary)});
  return out;
}

std::vector<Word> snapshots() {
  using record::Snapshot;
  std::vector<Word> out;
  for (const Snapshot snapshot : {Snapshot::automatic, Snapshot::freeze, Snapshot::reflink,
                                  Snapshot::unmounted, Snapshot::none})
    out.push_back({record::snapshot_name(snapshot)});
  return out;
}

std::vector<Word> clocks() {
  using record::TraceClock;
  std::vector<Word> out;
  for (const TraceClock clock : {TraceClock::mono, TraceClock::mono_raw, TraceClock::boot})
    out.push_back({record::clock_name(clock)});
  return out;
}

std::vector<Word> figures() {
  std::vector<Word> out;
  for (const results::Row& row : results::rows(results::Reporter::watch)) out.push_back({row.key});
  return out;
}

std::vector<Word> profiles() {
  std::vector<Word> out;
  out.reserve(age::profiles().size());
  for (const age::Profile& profile : age::profiles()) out.push_back({profile.name, profile.source});
  return out;
}

std::vector<Word> generations() {
  std::vector<Word> out;
  out.reserve(std::size(trace::kGenerationWords));
  for (const auto& [word, generation] : trace::kGenerationWords)
    out.push_back({std::string(word), "Linux " + std::string(trace::generation_name(generation))});
  return out;
}

bool is_file(std::string_view placeholder) {
  static constexpr std::array<std::string_view, 11> kFiles = {
      "SIZE|IMAGE", "IMAGE",  "IMAGE|FILE.e4c",       "TRACE",     "FILE",          "FILE.e4c",
      "OUT",        "TARGET", "FILE.e4c|IMAGE:TRACE", "FILE.prom", "WORDS|FILE.fio"};
  return std::ranges::find(kFiles, placeholder) != kFiles.end();
}

}  // namespace

ValueCompletion value_of(std::string_view placeholder) {
  using Kind = ValueCompletion::Kind;
  if (is_file(placeholder)) return {Kind::file};
  if (placeholder == "CMD...") return {Kind::command};
  if (placeholder == "POLICY" || placeholder == "NAME") return {Kind::words, policies()};
  if (placeholder == "POLICY[,POLICY...]") return {Kind::words, policies(), true};
  if (placeholder == "KEY[,KEY...]") return {Kind::words, figures(), true};
  if (placeholder == "DIR") return {Kind::directory};
  if (placeholder == "METRIC") return {Kind::words, metrics()};
  if (placeholder == "NAME=VALUE" || placeholder == "NAME=VALUES") return {Kind::words, tunables()};
  if (placeholder == "MODEL") return {Kind::words, models()};
  if (placeholder == "MODEL[,MODEL...]") return {Kind::words, models(), true};
  if (placeholder == "HOW") return {Kind::words, snapshots()};
  if (placeholder == "CLOCK") return {Kind::words, clocks()};
  if (placeholder == "WHAT") return {Kind::words, {{"free"}, {"order"}}};
  if (placeholder == "SET") return {Kind::words, {{"minimal"}, {"full"}}};
  if (placeholder == "PROFILE") return {Kind::words, profiles()};
  if (placeholder == "PROFILE[,PROFILE...]") return {Kind::words, profiles(), true};
  if (placeholder == "HOW-WRITTEN") return {Kind::words, {{"delalloc"}, {"nodelalloc"}}};
  if (placeholder == "GEN") return {Kind::words, generations()};
  return {};
}

namespace {

namespace fs = std::filesystem;

// The directories with captures, relative to the installation and to the source tree.
constexpr const char* kCaptures[] = {"share/e4replay/captures", "traces"};
constexpr const char* kCorpus[] = {"share/e4replay/corpus", "traces/corpus"};

// Returns the first of these directories, next to or above this program, that has a MANIFEST, or
// "".
fs::path find_directory(const char* const (&names)[2]) {
  std::error_code failed;
  fs::path at = fs::read_symlink("/proc/self/exe", failed);
  while (!failed && at.has_relative_path()) {
    at = at.parent_path();
    for (const char* name : names)
      if (fs::exists(at / name / "MANIFEST", failed)) return at / name;
  }
  return {};
}

}  // namespace

std::string find_corpus() {
  return find_directory(kCorpus);
}

std::string find_capture(const std::string& word) {
  std::error_code failed;
  if (word.empty() || word.find('/') != std::string::npos || fs::exists(word, failed)) return word;
  for (const auto& names : {std::cref(kCaptures), std::cref(kCorpus)}) {
    const fs::path directory = find_directory(names);
    if (directory.empty()) continue;
    for (const std::string& file : {word, word + ".e4c"})
      if (fs::path(file).extension() == ".e4c" && fs::exists(directory / file, failed))
        return directory / file;
  }
  return word;
}

Result<std::vector<std::string>> captures_in(const std::string& directory) {
  std::error_code failed;
  std::vector<std::string> out;
  for (fs::directory_iterator at(directory, failed), end; !failed && at != end;
       at.increment(failed))
    if (at->path().extension() == ".e4c") out.push_back(at->path());
  if (failed) return error("{}: {}", directory, failed.message());
  if (out.empty()) return error("{}: has no capture: give a directory of .e4c files", directory);
  std::ranges::sort(out);
  return out;
}

void declare_fail_if(CommandLine& app, std::vector<std::string>& conditions) {
  app.add_option("--fail-if", conditions,
                 "exit status 4 if this condition on the figures holds, such as "
                 "'files/most_extents > 1.1 * base:files/most_extents'; may be repeated")
      .type_name("EXPR")
      .may_repeat();
}

int status_of_conditions(const std::string& failure) {
  if (failure.empty()) return kDone;
  print_line(stderr, "e4replay: {}", failure);
  return kConditionHolds;
}

namespace {

Status take_explain(const std::string& text, Explain explain, app::RunSpec& spec) {
  if (text.empty() && explain == Explain::policies_too) {
    spec.causes = true;
    return {};
  }
  const auto number = parse_u64(text);
  if (!number.ok() && explain == Explain::policies_too)
    return error(
        "--explain: '{}' is not the number of a decision: give --explain=1358, or --explain after "
        "the inputs for policies",
        text);
  if (!number.ok()) return number.error();
  spec.explain = *number;
  return spec.explain != 0 ? Status() : error("--explain 0: decisions are counted from 1");
}

void declare_explain(CommandLine& app, app::RunSpec& spec, Explain explain) {
  const bool policies = explain == Explain::policies_too;
  DeclaredOption option = app.add_option(
      "--explain",
      [&spec, explain](const std::string& text) { return take_explain(text, explain, spec); },
      policies ? "say why policies are better or worse than the first; with N, print decision N: "
                 "request, goal, groups and reasons, result"
               : "print decision N: request, goal, groups and reasons, result");
  if (policies) option.may_lack_value();
  option.type_name(policies ? "[N]" : "N");
}

}  // namespace

void declare_inputs(CommandLine& app, InputArguments& o, Explain explain) {
  app.add_option(
         "image",
         [&o](const std::string& word) -> Status {
           o.open.image = find_capture(word);
           return {};
         },
         "start image: the file system as it was before the trace; or a capture "
         "(`e4replay record`), which needs nothing else")
      .required()
      .type_name("IMAGE|FILE.e4c");
  app.add_option("trace", o.open.trace,
                 "trace (ftrace, trace-cmd, perf text, trace.dat, .e4t, .e4c; .gz, .zst; -)")
      .type_name("TRACE");
  app.add_option("--set", o.spec.settings, "set a tunable; may be repeated")
      .type_name("NAME=VALUE")
      .may_repeat();
  app.add_option("--tunables", o.open.tunables_file,
                 "the recorded kernel's tunables (default: NAME.tunables next to the trace)")
      .type_name("FILE");
  app.add_option("--device", o.open.read.device, trace::parse_device,
                 "device in the trace (default: the only one, the one that fits the image, or the "
                 "busiest)")
      .type_name("MAJ:MIN");
  app.add_option("--generation", o.open.read.generation, trace::parse_generation,
                 "kernel that printed the trace: 6.1, 6.5 or cr1.5")
      .type_name("GEN");
  app.add_option("--buffer", o.open.read.buffer,
                 "for a trace.dat, only this instance; '' is the top buffer")
      .type_name("NAME");
  app.add_flag("--lenient", o.open.read.lenient, "skip malformed trace lines instead of stopping");
  app.add_flag("--any-ratio", o.open.read.any_ratio, kAnyRatioHelp);
  app.add_flag("--strict", o.open.strict, "stop at a damaged group instead of leaving it out");
  app.add_flag("--check", o.spec.check, "verify the allocator's invariants during the replay");
  declare_explain(app, o.spec, explain);
  declare_fail_if(app, o.fail_if);
  app.add_option("--json", o.json,
                 "also write JSON to FILE; with -, print JSON instead of the text")
      .type_name("FILE");
  app.add_option("--threads", o.open.threads, "threads to use (default: one per CPU)")
      .type_name("N");
  app.add_flag("--no-progress", o.no_progress, "no progress line on the terminal");
}

Status resolve(InputArguments& o) {
  if (const Status status = app::check_settings(o.spec.settings); !status.ok())
    return error("--set: {}", status.error().message);
  const auto sets_cpus = [](const std::string& setting) {
    return setting.starts_with("possible_cpus=");
  };
  o.open.finds_cpus = std::ranges::none_of(o.spec.settings, sets_cpus);
  o.spec.threads = o.open.threads;
  return {};
}

void declare_sides(CommandLine& app, SideArguments& options, const std::string& meaning) {
  app.add_option("--base", options.base, "the policy without the change, or kernel:FILE")
      .type_name("POLICY");
  app.add_option("--with", options.with, meaning).type_name("POLICY");
}

void declare_side_settings(CommandLine& app, SideArguments& options) {
  app.add_option("--set", options.settings, "set a tunable for both; may be repeated")
      .type_name("NAME=VALUE")
      .may_repeat();
  app.add_option("--set-with", options.with_settings,
                 "set a tunable only for --with; may be repeated")
      .type_name("NAME=VALUE")
      .may_repeat();
}

Status choose_sides(const SideArguments& options, review::Side& base, review::Side& with) {
  if (options.base.empty() || options.with.empty())
    return error("give the two policies: --base POLICY --with POLICY");
  E4R_TRY(base.policy, app::parse_policy(options.base));
  E4R_TRY(with.policy, app::parse_policy(options.with));
  E4R_TRY(base.file, app::policy_file(*base.policy));
  E4R_TRY(with.file, app::policy_file(*with.policy));
  base.settings = with.settings = options.settings;
  with.settings.insert(with.settings.end(), options.with_settings.begin(),
                       options.with_settings.end());
  if (const Status status = app::check_settings(with.settings); !status.ok())
    return error("--set: {}", status.error().message);
  if (base.policy == with.policy && options.with_settings.empty())
    return error("--base and --with are the same: give another policy, or --set-with NAME=VALUE");
  return {};
}

void declare_side_reads(const review::Side& base, const review::Side& with, Outputs& outputs) {
  const allocator::Policy* const policies[] = {base.policy, with.policy};
  app::declare_reads(policies, outputs);
}

void declare_kernel_log(CommandLine& app, std::string& file) {
  app.add_option("--kernel-log", file,
                 "write what kernel:FILE printed, with warnings and backtraces")
      .type_name("FILE");
}

Result<int> with_kernel_log(const std::string& file, const std::function<Result<int>()>& run) {
  if (file.empty()) return run();
  guest::keep_consoles();
  Result<int> done = run();
  const std::string consoles = guest::kept_consoles();
  if (!consoles.empty()) {
    const Status written = write_output(consoles, file);
    if (!written.ok() && !done.ok())
      warn(written.error().message);
    else
      E4R_CHECK(written);
  } else if (done.ok()) {
    warn("--kernel-log: no kernel was started, so " + file + " was not written");
  }
  return done;
}

}  // namespace e4r::tools
