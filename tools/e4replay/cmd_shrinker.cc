// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/ranges.h>

#include <sstream>

#include "app/trace_files.h"
#include "common/command.h"
#include "common/print_line.h"
#include "e4replay/input_options.h"
#include "e4replay/shrinker_report.h"
#include "replay/agreement.h"
#include "util/file.h"
#include "util/units.h"

namespace e4r::tools {
namespace cmd_shrinker {
namespace {

std::string known_models() {
  std::string out;
  for (const shrinker::Model& model : shrinker::models())
    out += fmt::format("{}{}", out.empty() ? "" : ",", model.name);
  return out;
}

struct Options : app::TraceOptions {
  std::string models = known_models();
  std::string recorded = "round-robin";
  std::string json;
  bool verify = false;
  bool force = false;
};

Result<const shrinker::Model*> model_named(const std::string& name) {
  const shrinker::Model* model = shrinker::find_model(name);
  if (model == nullptr) return error("unknown model '{}': known are {}", name, known_models());
  return model;
}

Result<std::vector<const shrinker::Model*>> parse_models(const std::string& text) {
  std::vector<const shrinker::Model*> out;
  std::istringstream names(text);
  for (std::string name; std::getline(names, name, ',');) {
    E4R_TRY(const shrinker::Model* model, model_named(name));
    out.push_back(model);
  }
  if (out.empty()) return error("-p needs a model: {}", known_models());
  return out;
}

// What was not understood, in front of what else may be at fault.
std::string in_the_way(const std::vector<std::string>& lines) {
  return lines.empty() ? "" : fmt::format("{}; ", fmt::join(lines, "; "));
}

// The Error of a model that does not follow the recorded kernel.
Status check_agreement(const ShrinkerReport& report) {
  const shrinker::Agreement& a = report.recorded.agreement;
  const auto percent = percent_same(a);
  if (percent && *percent >= replay::Agreement::kFollows) return {};
  if (!percent)
    return error(
        "{}: no call of the shrinker is recorded whole, so nothing shows that the model follows "
        "the kernel; --force answers anyway",
        report.trace);
  return error(
      "{}: {} follows only {} of {} recorded calls and {} of {} lookups: first difference at {}; {}"
      "check that the trace began before the file system was mounted, that no events were lost, "
      "and --recorded; --force answers anyway",
      report.trace, report.recorded.followed.model->name, format_count(a.scans.same),
      format_count(a.scans.all), format_count(a.lookups.same), format_count(a.lookups.all), a.first,
      in_the_way(report.not_understood));
}

template <class T>
Result<T> named(const std::string& trace, Result<T> result) {
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
  E4R_TRY(const trace::PackedTrace trace, open_trace(options));
  for (const std::string& note : trace.notes()) warn(note);
  ShrinkerReport report;
  report.trace = options.trace;
  report.not_understood = trace::not_understood(trace.summary());
  E4R_TRY(report.recorded, named(options.trace, shrinker::follow(*trace.cursor(), **recorded)));
  if (!options.verify) {
    if (!options.force) E4R_CHECK(check_agreement(report));
    for (const shrinker::Model* model : *models) {
      E4R_TRY(shrinker::Outcome outcome,
              named(options.trace, shrinker::what_if(*trace.cursor(), *model)));
      report.runs.push_back(outcome);
    }
  }
  if (!options.json.empty())
    E4R_CHECK(write_output(shrinker_json(report), outputs.named(options.json)));
  if (options.json != "-") print_report(shrinker_text(report));
  return options.verify && !report.recorded.agreement.agrees() ? kDisagreed : kDone;
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto o = std::make_shared<Options>();
  o->needed = trace::KindSet::wanted(trace::Purpose::shrinker);
  app.add_option("trace", o->trace, "trace with ext4_es_* events (text or .e4t; .gz, .zst; -)")
      .required()
      .type_name("TRACE");
  app.add_option("-p,--policy", o->models, "reclaim models, comma-separated (default: all)")
      .type_name("MODEL[,MODEL...]");
  app.add_option("--recorded", o->recorded, "the model of the recorded kernel (round-robin)")
      .type_name("MODEL");
  app.add_flag("--verify", o->verify,
               "only hold that model against the trace; status 3 when anything differs");
  app.add_flag("--force", o->force,
               "answer although the model follows less than 90 % of the recorded calls or lookups");
  app.add_option("--device", o->device, "take the events of this device").type_name("MAJOR:MINOR");
  app.add_flag("--lenient", o->lenient, "skip malformed lines and damaged data, and count them");
  app.add_flag("--any-ratio", o->any_ratio, kAnyRatioHelp);
  app.add_option("--json", o->json, "write the figures as JSON as well; -: instead")
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
