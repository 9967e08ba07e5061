// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/fidelity.h"

#include "replay/engine.h"
#include "util/units.h"

namespace e4r::app {
namespace {

// A capture includes its image, the kernel's tunables and a count of lost events.
bool is_whole_capture(const report::ReplayReport& report) {
  return report.image_path == report.trace_path;
}

// Formats "check A, B and C".
std::string check_text(const std::vector<std::string>& checks) {
  std::string out = "check ";
  for (std::size_t i = 0; i < checks.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : i + 1 == checks.size() ? " and " : ", ", checks[i]);
  return out;
}

// Lists possible causes other than the model.
std::vector<std::string> doubts(const InputOptions& options, const Inputs& inputs) {
  std::vector<std::string> out;
  if (!options.generation.empty())
    out.push_back(
        fmt::format("--generation {} (without it the trace itself says)", options.generation));
  if (!options.trace.empty())
    out.push_back(fmt::format("that {} is the image from before the trace", options.image));
  const bool of_capture = inputs.capture && options.tunables_file.empty();
  if (inputs.tunables_from.empty())
    out.emplace_back("that the recorded kernel had the default tunables (else give --tunables)");
  else if (!of_capture)
    out.push_back(fmt::format("that {} has the recorded kernel's tunables", inputs.tunables_from));
  if (!inputs.capture)
    out.emplace_back("that no events were lost (`e4replay trace info`)");
  else if (inputs.capture->end() == nullptr)
    out.emplace_back("that no events were lost, which a capture without its end does not say");
  return out;
}

// Advice for a model that does not follow the trace.
std::string advice(const report::ReplayReport& report, const InputOptions& options,
                   const Inputs& inputs) {
  const bool modelled = replay::is_modelled(report.trace);
  std::string out =
      modelled ? "" : fmt::format("no policy here decides like Linux {}; ", kernel_text(report));
  for (const std::string& line : trace::not_understood(report.trace)) out += line + "; ";
  if (report.trace.lost_any())
    return out + "events were lost while recording (`e4replay trace info`), so record it again";
  const std::vector<std::string> checks = doubts(options, inputs);
  if (!checks.empty()) return out + check_text(checks);
  return out +
         "image and tunables are the capture's own and no event was lost, so the model differs "
         "from the kernel here";
}

}  // namespace

Status check_fidelity(const report::ReplayReport& report, const InputOptions& options,
                      const Inputs& inputs) {
  const replay::Agreement& a = *report.recorded;
  if (a.follows()) return {};
  constexpr const char* kForce = "--force answers anyway";
  const replay::Divergence* first = a.first_divergence();
  if (first == nullptr)
    return error(
        "{}: has no closed decision, so nothing shows that the model follows the recorded "
        "kernel; record ext4_mballoc_alloc and ext4_mballoc_prealloc as well; {}",
        report.trace_path, kForce);
  return error(
      "{}: the model follows only {:.1f} % of {} recorded decisions under {}, and below {:.0f} % "
      "its answers mean nothing: first divergence at decision {}, event {}, in {}; {}; "
      "`e4replay verify` shows more; {}",
      report.trace_path, *a.percent_identical(), format_count(a.requests), report.recorded_policy,
      replay::Agreement::kFollows, format_count(first->decision), format_count(first->event),
      first->fields, advice(report, options, inputs), kForce);
}

void warn_of_fidelity(const report::ReplayReport& report, const Listener& listener) {
  constexpr double kTrusted = 99.0;
  const auto percent = report.recorded->percent_identical();
  if (!percent)
    listener.warn(fmt::format("{} closes no decision: nothing shows what this answer is worth",
                              report.trace_path));
  else if (*percent < kTrusted)
    listener.warn(fmt::format(
        "the model follows only {:.1f} % of the recorded decisions{}`e4replay verify` shows where "
        "they part",
        *percent,
        is_whole_capture(report)
            ? "; "
            : fmt::format(": is {} the image from before the trace? ", report.image_path)));
}

Result<replay::Run> follow_into(replay::Session& session, replay::Setup recorded,
                                report::ReplayReport& report) {
  E4R_TRY(replay::Run followed, session.follow_recorded(std::move(recorded)));
  report.recorded = followed.engine->agreement();
  report.recorded_policy = followed.engine->policy().name;
  if (session.warm() != nullptr) report.warm = *session.warm();
  report.contradictions = followed.engine->contradictions();
  return followed;
}

}  // namespace e4r::app
