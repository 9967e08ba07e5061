// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value_from.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "app/inputs.h"
#include "common/command.h"
#include "common/print_line.h"
#include "e4replay/options.h"
#include "json/text.h"
#include "replay/agreement.h"
#include "report/json_parts.h"
#include "results/rows.h"
#include "shrinker/replay.h"
#include "util/file.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::tools {
namespace cmd_shrinker {
namespace {

using shrinker::CacheAgreement;
using shrinker::Compared;
using shrinker::ReclaimOutcome;

// The report of `e4replay shrinker`: how closely the model of the recorded kernel agrees with the
// recording, and the outcome of each model.
struct ShrinkerReport {
  std::string trace;
  std::vector<std::string> not_understood;  // parts of the trace that were skipped, one line each
  shrinker::Replay recorded;
  std::vector<shrinker::ReclaimOutcome> runs;
};

results::Value ratio(std::uint64_t of, std::uint64_t to) {
  if (to == 0) return std::monostate();
  return static_cast<double>(of) / static_cast<double>(to);
}

// A figure of a model's run, which the table and the JSON document show.
struct Row {
  const char* label;
  const char* key;
  results::Value (*value)(const ReclaimOutcome&);
};

constexpr std::array kRows = {
    Row{"calls of the shrinker", "calls",
        [](const ReclaimOutcome& o) -> results::Value { return o.calls; }},
    Row{"entries visited", "visited",
        [](const ReclaimOutcome& o) -> results::Value { return o.visited; }},
    Row{"entries reclaimed", "reclaimed",
        [](const ReclaimOutcome& o) -> results::Value { return o.reclaimed; }},
    Row{"visits per reclaimed entry", "visits_per_reclaim",
        [](const ReclaimOutcome& o) -> results::Value { return ratio(o.visited, o.reclaimed); }},
    Row{"most visits in a call", "most_visited",
        [](const ReclaimOutcome& o) -> results::Value { return o.most_visited; }},
    Row{"calls that reclaimed nothing", "empty_calls",
        [](const ReclaimOutcome& o) -> results::Value { return o.empty_calls; }},
    Row{"lookups", "lookups", [](const ReclaimOutcome& o) -> results::Value { return o.lookups; }},
    Row{"  answered", "hits", [](const ReclaimOutcome& o) -> results::Value { return o.hits; }},
    Row{"  not answered: reclaimed", "lost_hits",
        [](const ReclaimOutcome& o) -> results::Value { return o.lost_hits; }},
    Row{"entries, at most", "most_entries",
        [](const ReclaimOutcome& o) -> results::Value { return o.most_entries; }},
    Row{"  reclaimable, at most", "most_reclaimable",
        [](const ReclaimOutcome& o) -> results::Value { return o.most_reclaimable; }},
    Row{"entries at the end", "entries",
        [](const ReclaimOutcome& o) -> results::Value { return o.entries; }},
    Row{"  reclaimable", "reclaimable",
        [](const ReclaimOutcome& o) -> results::Value { return o.reclaimable; }},
};

std::string of_all(const Compared& c) {
  const auto percent = c.percent();
  return fmt::format("{:>11} of {:<11} {}", format_count(c.same), format_count(c.all),
                     percent ? fmt::format("{:.4f} %", *percent) : "-");
}

std::string head(const ShrinkerReport& report) {
  const CacheAgreement& a = report.recorded.agreement;
  std::string out = fmt::format("trace        {}\nevents       {} of extent status trees\n",
                                escape(report.trace), format_count(report.recorded.events));
  out += fmt::format("recorded     compared with {}, identical:\n",
                     report.recorded.followed.model->name);
  out += fmt::format("             calls of the shrinker    {}\n", of_all(a.scans));
  out += fmt::format("             reclaimable entries then {}\n", of_all(a.reclaimable));
  out += fmt::format("             lookups                  {}\n", of_all(a.lookups));
  if (a.unseen > 0)
    out += fmt::format("             {} entries existed before the trace began\n",
                       format_count(a.unseen));
  if (report.recorded.inodes_skipped > 0)
    out += fmt::format(
        "             the recorded shrinker passed over {} locked or precached inodes\n",
        format_count(report.recorded.inodes_skipped));
  if (report.recorded.contradictions > 0)
    out += fmt::format("             {} events contradict each other and were left out\n",
                       format_count(report.recorded.contradictions));
  for (const std::string& line : report.not_understood)
    out += fmt::format("missing      {}\n", escape(line));
  if (!a.first.empty()) out += fmt::format("differs      first at {}\n", a.first);
  if (report.recorded.followed.calls > 0)
    out += fmt::format("time         {} us in the recorded shrinker, the longest call {} us\n",
                       format_count(report.recorded.recorded_us),
                       format_count(report.recorded.longest_us));
  return out;
}

boost::json::object json_of(const Compared& compared) {
  return {{"all", compared.all}, {"same", compared.same}};
}

boost::json::object json_of(const ReclaimOutcome& outcome) {
  boost::json::object out = {{"model", outcome.model->name}};
  for (const Row& row : kRows) out[row.key] = report::json_of(row.value(outcome));
  return out;
}

// How far the model agrees with the recording: the smaller of its share of equal calls and its
// share of equal lookups. Empty if there are no calls. There are about a thousand lookups for each
// call, so a common share would hide a wrong model.
std::optional<double> percent_same(const CacheAgreement& agreement) {
  const auto calls = agreement.scans.percent();
  if (!calls) return std::nullopt;
  return std::min(*calls, agreement.lookups.percent().value_or(100));
}

boost::json::object agreement_json(const shrinker::Replay& recorded) {
  const CacheAgreement& a = recorded.agreement;
  const auto percent = percent_same(a);
  return {{"model", recorded.followed.model->name},
          {"percent_identical", percent ? boost::json::value(*percent) : nullptr},
          {"lookups", json_of(a.lookups)},
          {"calls", json_of(a.scans)},
          {"reclaimable", json_of(a.reclaimable)},
          {"unseen", a.unseen},
          {"first_difference",
           a.first.empty() ? boost::json::value(nullptr) : boost::json::value(a.first)}};
}

std::string shrinker_text(const ShrinkerReport& report) {
  std::string out = head(report);
  if (report.runs.empty()) return out;
  TextTable table;
  std::vector<std::string> cells = {""};
  for (const ReclaimOutcome& run : report.runs) cells.emplace_back(run.model->name);
  table.row(cells);
  table.rule();
  for (const Row& row : kRows) {
    cells = {row.label};
    for (const ReclaimOutcome& run : report.runs) cells.push_back(results::text_of(row.value(run)));
    table.row(cells);
  }
  return out + "\n" + table.text();
}

std::string shrinker_json(const ShrinkerReport& report) {
  boost::json::array runs;
  for (const ReclaimOutcome& run : report.runs) runs.push_back(json_of(run));
  const boost::json::object shrinker = {
      {"trace", report.trace},
      {"events", report.recorded.events},
      {"contradictions", report.recorded.contradictions},
      {"inodes_skipped", report.recorded.inodes_skipped},
      {"recorded_us", report.recorded.recorded_us},
      {"longest_us", report.recorded.longest_us},
      {"recorded", agreement_json(report.recorded)},
      {"not_understood", boost::json::value_from(report.not_understood)},
      {"runs", runs}};
  return json_text({{"schema", "e4replay-shrinker/1"}, {"shrinker", shrinker}});
}

std::string known_models() {
  std::string out;
  for (const shrinker::ReclaimModel& model : shrinker::models())
    out += fmt::format("{}{}", out.empty() ? "" : ",", model.name);
  return out;
}

struct Options {
  std::string trace;
  trace::ReadOptions read;
  std::string models = known_models();
  std::string recorded = "round-robin";
  std::string json;
  bool verify = false;
  bool force = false;
};

Result<const shrinker::ReclaimModel*> model_named(const std::string& name) {
  const shrinker::ReclaimModel* model = shrinker::find_model(name);
  if (model == nullptr) return error("unknown model '{}': choose from {}", name, known_models());
  return model;
}

Result<std::vector<const shrinker::ReclaimModel*>> parse_models(const std::string& text) {
  std::vector<const shrinker::ReclaimModel*> out;
  std::istringstream names(text);
  for (std::string name; std::getline(names, name, ',');) {
    E4R_TRY(const shrinker::ReclaimModel* model, model_named(name));
    out.push_back(model);
  }
  if (out.empty()) return error("-p needs a model: {}", known_models());
  return out;
}

// Lists the parts of the trace that were not understood. They are printed before other possible
// causes.
std::string in_the_way(const std::vector<std::string>& lines) {
  return lines.empty() ? "" : fmt::format("{}; ", fmt::join(lines, "; "));
}

// Returns an Error if the model does not follow the recorded kernel.
Status check_agreement(const ShrinkerReport& report) {
  const shrinker::CacheAgreement& a = report.recorded.agreement;
  const auto percent = percent_same(a);
  if (percent && *percent >= replay::Agreement::kFollows) return {};
  if (!percent)
    return error(
        "{}: no call of the shrinker is recorded whole, so nothing shows that the model follows "
        "the kernel; --force gives a result anyway",
        report.trace);
  return error(
      "{}: {} follows only {} of {} recorded calls and {} of {} lookups: first difference at {}; {}"
      "check that the trace began before the file system was mounted, that no events were lost, "
      "and --recorded; --force gives a result anyway",
      report.trace, report.recorded.followed.model->name, format_count(a.scans.same),
      format_count(a.scans.all), format_count(a.lookups.same), format_count(a.lookups.all), a.first,
      in_the_way(report.not_understood));
}

template <class T>
Result<T> name_error(const std::string& trace, Result<T> result) {
  if (!result.ok()) return error("{}: {}", trace, result.error().message);
  return result;
}

Result<int> run(const Options& options) {
  const auto models = parse_models(options.models);
  if (!models.ok()) return usage_error("-p: " + models.error().message);
  const auto recorded = model_named(options.recorded);
  if (!recorded.ok()) return usage_error("--recorded: " + recorded.error().message);
  Outputs outputs;
  app::declare_trace_reads(options.trace, outputs);
  E4R_CHECK(outputs.writes(options.json));
  E4R_TRY(const trace::PackedTrace trace, app::load_events(options.trace, options.read));
  for (const std::string& note : trace.notes()) warn(note);
  ShrinkerReport report;
  report.trace = options.trace;
  report.not_understood = trace::not_understood(trace.summary());
  E4R_TRY(report.recorded,
          name_error(options.trace, shrinker::follow(*trace.cursor(), **recorded)));
  if (!options.verify) {
    if (!options.force) E4R_CHECK(check_agreement(report));
    for (const shrinker::ReclaimModel* model : *models) {
      E4R_TRY(shrinker::ReclaimOutcome outcome,
              name_error(options.trace, shrinker::what_if(*trace.cursor(), *model)));
      report.runs.push_back(outcome);
    }
  }
  if (!options.json.empty())
    E4R_CHECK(write_output(shrinker_json(report), outputs.name_of(options.json)));
  if (options.json != "-") print_report(shrinker_text(report));
  return options.verify && !report.recorded.agreement.agrees() ? kDisagreed : kDone;
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto o = std::make_shared<Options>();
  o->read.needed = trace::KindSet::for_purpose(trace::Purpose::shrinker);
  app.add_option("trace", o->trace, "trace with ext4_es_* events (text or .e4t; .gz, .zst; -)")
      .required()
      .type_name("TRACE");
  app.add_option("-p,--policy", o->models, "reclaim models, comma-separated (default: all)")
      .type_name("MODEL[,MODEL...]");
  app.add_option("--recorded", o->recorded, "the model of the recorded kernel (round-robin)")
      .type_name("MODEL");
  app.add_flag("--verify", o->verify,
               "only compare that model with the trace; exit status 3 if anything differs");
  app.add_flag(
      "--force", o->force,
      "give results even if the model follows less than 90 % of the recorded calls or lookups");
  app.add_option("--device", o->read.device, trace::parse_device, "take the events of this device")
      .type_name("MAJOR:MINOR");
  app.add_flag("--lenient", o->read.lenient,
               "skip malformed lines and damaged data, and count them");
  app.add_flag("--any-ratio", o->read.any_ratio, kAnyRatioHelp);
  app.add_option("--json", o->json,
                 "also write the figures as JSON; with -, print JSON instead of the text")
      .type_name("FILE");
  return [o] { return run(*o); };
}

}  // namespace
}  // namespace cmd_shrinker

const Command& shrinker_command() {
  static const Command kCommand = {
      "shrinker", "what other ways to reclaim extent status entries would have done",
      "  e4replay shrinker run.trace.zst\n"
      "  e4replay shrinker run.trace.zst -p round-robin,evictable --json result.json\n"
      "  e4replay shrinker run.trace.zst --verify\n"
      "  e4replay shrinker patched.e4t --verify --recorded evictable\n",
      cmd_shrinker::declare};
  return kCommand;
}

}  // namespace e4r::tools
