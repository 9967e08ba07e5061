// SPDX-License-Identifier: GPL-2.0-or-later
#include <boost/json.hpp>

#include "json/text.h"
#include "report/headline.h"
#include "report/json_parts.h"
#include "report/replay_report.h"

namespace e4r::report {
namespace {

namespace json = boost::json;

json::object tunables_json(const allocator::Tunables& tunables) {
  json::object out;
  for (const allocator::TunableInfo& info : allocator::tunable_table())
    out[info.name] = value_of(tunables, info);
  return out;
}

json::object divergence_json(const replay::Divergence& d) {
  return {
      {"decision", d.decision}, {"event", d.event},       {"time_ns", d.time_ns},
      {"pid", d.pid},           {"inode", d.ino},         {"race", d.race != replay::Race::none},
      {"differs_in", d.fields}, {"recorded", d.recorded}, {"modelled", d.modelled}};
}

json::array divergences_json(const replay::Agreement& a) {
  json::array all;
  for (const replay::Divergence& d : a.divergences) all.push_back(divergence_json(d));
  return all;
}

json::value percent_json(const replay::Agreement& a) {
  const auto percent = a.percent_identical();
  return percent ? json::value(*percent) : json::value();
}

json::object contradictions_json(const replay::Contradictions& contradictions) {
  json::object out;
  for (const replay::ContradictionInfo& info : replay::contradiction_table())
    out[info.key] = contradictions.*(info.member);
  out["first_event"] =
      contradictions.any() ? json::value(contradictions.first_event) : json::value();
  return out;
}

json::object warm_json(const replay::WarmStart& warm) {
  json::object out = {{"preallocations", warm.prealloc_count()},
                      {"clusters_shown_by_trace", warm.shown_by_trace},
                      {"clusters_found_by_counters", warm.found_by_counters},
                      {"clusters_not_found", warm.not_found},
                      {"groups_not_explained", warm.groups_not_explained},
                      {"list_order_decisions", warm.precedences}};
  if (warm.read_from_memory) out["clusters_read_from_memory"] = *warm.read_from_memory;
  if (warm.checkpoint != nullptr) out["checkpoint"] = true;
  return out;
}

json::object agreement_json(const replay::Agreement& a) {
  return {{"requests", a.requests},
          {"same_block", a.same_block},
          {"same_length", a.same_length},
          {"same_criterion", a.same_criterion},
          {"same_found", a.same_found},
          {"same_groups_scanned", a.same_groups_scanned},
          {"identical", a.identical},
          {"percent_identical", percent_json(a)},
          {"skips", a.skips},
          {"races", a.races},
          {"decided_at_answer", a.late},
          {"saw_earlier", a.earlier},
          {"forced", a.forced},
          {"conflicting_clusters", a.conflicts},
          {"first_divergence",
           a.divergences.empty() ? json::value() : divergence_json(a.divergences.front())},
          {"last_divergence", a.last_divergence}};
}

// The `agreement` of a run; null in a replay.
json::value verification_json(const results::Outcome& run) {
  if (!run.agreement && !run.free_run) return nullptr;
  json::object out = agreement_json(run.agreement ? *run.agreement : *run.free_run);
  // Once a free run has diverged, it differs everywhere. So only divergences of a run that follows
  // the kernel are listed.
  out["divergences"] = run.agreement ? divergences_json(*run.agreement) : json::array();
  out["resync"] = run.agreement.has_value();
  out["free_run"] = nullptr;
  if (run.free_run) out["free_run"] = agreement_json(*run.free_run);
  out["final_groups_equal"] = nullptr;
  if (run.groups) out["final_groups_equal"] = run.groups->equal();
  if (run.groups && !run.groups->equal())
    out["groups_differing"] = {{"count", run.groups->differing}, {"first", run.groups->first}};
  out["mb_stats_equal"] = nullptr;
  if (run.kernel_stats) {
    out["mb_stats_equal"] = run.kernel_stats->equal();
    out["mb_stats_compared"] = run.kernel_stats->compared;
    out["mb_stats_differing"] = json::value_from(run.kernel_stats->differing);
    out["mb_stats_open"] = json::value_from(run.kernel_stats->open);
    out["mb_stats_missing"] = json::value_from(run.kernel_stats->missing);
    out["mb_stats_not_modelled"] = json::value_from(run.kernel_stats->not_modelled);
  }
  return out;
}

// Puts the figures of a run or of the recorded kernel, under the same keys.
void put_figures(json::object& into, const results::Outcome& run) {
  put_rows(into, run);
  into["decisions_hash"] = fmt::format("{:016x}", run.decisions_hash);
  put_histogram(into, run);
}

json::object parting_json(const results::Parting& p) {
  json::object out = {{"from", p.from}, {"requests", p.requests}, {"alike", p.alike}};
  out["decision"] = nullptr;
  if (p.decision == 0) return out;
  out["decision"] = p.decision;
  out["theirs"] = p.theirs;
  out["made"] = p.made;
  return out;
}

json::array causes_json(const results::Why& why) {
  json::array out;
  for (const results::Cause& cause : why.causes)
    out.push_back({{"cause", cause.name},
                   {"of", cause.of == results::Cause::Figure::steps ? "steps" : "extents"},
                   {"policy", cause.policy},
                   {"count", cause.count},
                   {"other", cause.other},
                   {"percent", cause.percent},
                   {"changed_by", cause.changed_by},
                   {"sentence", with_plain_spaces(cause.sentence)}});
  return out;
}

json::object writers_json(const results::Outcome& run) {
  json::object out, locks;
  put_rows(out, run, results::Reporter::writers);
  for (const auto& [name, waits] : run.writers->waits)
    locks[name] = {{"waits", waits.count},
                   {"ns", waits.ns},
                   {"percent", 100 * run.writers->share_waited(waits)}};
  out["locks"] = std::move(locks);
  return out;
}

json::object run_json(const results::Outcome& run) {
  json::object out = {{"policy", run.policy->name},
                      {"verified", !run.unverified()},
                      {"tunables", tunables_json(run.tunables)}};
  put_figures(out, run);
  out["agreement"] = verification_json(run);
  if (run.parting) out["first_difference"] = parting_json(*run.parting);
  if (run.why && run.why->missing.empty()) out["causes"] = causes_json(*run.why);
  if (!run.by_writers.empty()) {
    json::array by_writers;
    for (const results::Outcome& by : run.by_writers) by_writers.push_back(writers_json(by));
    out["by_writers"] = std::move(by_writers);
  }
  out["ready_s"] = run.ready_s;
  out["elapsed_s"] = run.elapsed_s;
  out["requests_per_s"] = run.requests_per_s();
  return out;
}

// Returns how closely the model follows the recorded kernel, and the figures of that kernel.
json::object recorded_json(const ReplayReport& report) {
  json::object out = agreement_json(*report.recorded);
  out["policy"] = report.recorded_policy;
  out["trusted"] = report.recorded->follows();
  if (report.workload)
    out["absent"] = "no kernel was recorded: the requests are those of a workload";
  if (!report.kernel) return out;
  const RecordedKernel& kernel = *report.kernel;
  out["absent"] = kernel.run ? json::value() : json::value(kernel.absent);
  if (!kernel.run) return out;
  out["searches_from"] = kernel.by_mb_stats() ? "mb_stats" : "trace";
  out["tunables"] = tunables_json(kernel.run->tunables);
  put_figures(out, *kernel.run);
  return out;
}

json::object choice_json(const PolicyChoice& choice) {
  json::object out = {{"policy", choice.policy}, {"allowed", json::value_from(choice.allowed)}};
  out["kernels_own"] = nullptr;
  if (choice.kernels_own) out["kernels_own"] = *choice.kernels_own;
  return out;
}

json::object trace_json(const ReplayReport& report) {
  const trace::TraceSummary& t = report.trace;
  json::object kinds;
  for (std::size_t i = 0; i < t.by_kind.size(); ++i)
    if (t.by_kind[i] > 0) kinds[trace::event_name(static_cast<trace::EventKind>(i))] = t.by_kind[i];
  return {{"path", report.trace_path},
          {"format", trace::format_name(t.format)},
          {"kernel", kernel_text(report)},
          {"device", report.device},
          {"events", t.events},
          {"requests", t.count(trace::EventKind::request_blocks)},
          {"lost_events", t.lost_events},
          {"skipped_lines", t.skipped_lines},
          {"not_understood", json::value_from(trace::not_understood(t))},
          {"contradictions", contradictions_json(report.contradictions)},
          {"by_kind", std::move(kinds)}};
}

// Returns how much each figure varies in other orders of overlapping requests.
json::object luck_json(const ReplayReport& report) {
  json::object percent;
  for (const results::Row& row : results::rows())
    if (const double luck = luck_of(report, row.of); luck != 0) percent[row.key] = luck;
  return {{"orders", report.orders.size() - 1}, {"percent", std::move(percent)}};
}

json::array not_modelled_json(const ReplayReport& report) {
  json::array out;
  for (const NotModelled& what : report.not_modelled) out.emplace_back(what.option);
  return out;
}

json::object workload_json(const WorkloadFacts& workload) {
  return {{"text", workload.text},
          {"policy", workload.policy},
          {"files", workload.files},
          {"writers", workload.writers},
          {"operations", workload.operations},
          {"requests", workload.requests},
          {"failed", workload.failed},
          {"bytes_wanted", workload.bytes_wanted},
          {"bytes_not_written", workload.bytes_lost},
          {"ignored", json::value_from(workload.ignored)}};
}

json::string_view schema_of(const ReplayReport& report) {
  for (const results::Outcome& run : report.runs)
    if (run.agreement || run.free_run) return "e4replay-verify/1";
  return "e4replay-replay/1";
}

}  // namespace

std::string replay_json(const ReplayReport& report) {
  json::object image = image_json(report.image_path, report.superblock);
  image["bad_groups"] = report.bad_groups;
  put_start_rows(image, report.start);
  put_histogram(image, report.start);
  json::array runs;
  for (const results::Outcome& run : report.runs) runs.push_back(run_json(run));
  json::object document = {
      {"schema", schema_of(report)}, {"image", std::move(image)}, {"trace", trace_json(report)}};
  if (report.workload) document["workload"] = workload_json(*report.workload);
  document["not_modelled"] = not_modelled_json(report);
  if (report.warm) document["warm_start"] = warm_json(*report.warm);
  if (report.groups_read_early > 0) document["groups_read_early"] = report.groups_read_early;
  if (report.choice) document["choice"] = choice_json(*report.choice);
  if (report.recorded) document["recorded"] = recorded_json(report);
  document["runs"] = std::move(runs);
  if (!report.orders.empty()) document["luck"] = luck_json(report);
  if (report.fragmented) document["fragmented_files"] = fragmented_json(report);
  return json_text(document);
}

}  // namespace e4r::report
