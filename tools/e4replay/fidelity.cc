// SPDX-License-Identifier: GPL-2.0-or-later
#include "e4replay/fidelity.h"

#include "common/command.h"
#include "util/units.h"

namespace e4r::tools {
namespace {

// A capture has its own image, the kernel's tunables and a count of lost events.
bool is_whole_capture(const report::ReplayReport& report) {
  return report.image_path == report.trace_path;
}

// What a person can do about a model that does not follow the trace.
std::string advice(const report::ReplayReport& report) {
  const bool modelled = replay::is_modelled(report.trace);
  std::string out =
      modelled ? "" : fmt::format("no policy here decides like Linux {}; ", kernel_text(report));
  if (report.trace.lost_any())
    return out + "events were lost while recording (`e4replay trace info`), so record it again";
  if (is_whole_capture(report))
    return out +
           "image and tunables are the capture's own and no event was lost, so the model differs "
           "from the kernel here";
  out += fmt::format(
      "check that {} is the image from before the trace, that the recorder's tunables "
      "lie beside the trace or are given with --tunables, and that no events were "
      "lost (`e4replay trace info`)",
      report.image_path);
  return out;
}

}  // namespace

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
    warn(fmt::format(
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

}  // namespace e4r::tools
