// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/replay_report.h"

#include <algorithm>
#include <utility>

#include "replay/engine.h"
#include "trace/trace.h"
#include "util/units.h"

namespace e4r::report {

std::string kernel_text(const ReplayReport& report) {
  return report.release.empty() ? std::string(trace::kernel_of(report.trace)) : report.release;
}

std::string past_last_text(const ReplayReport& report) {
  const auto any = [](const results::Outcome& run) {
    return run.searches[mb::Criterion::past_last].hits.value_or(0) > 0;
  };
  if (std::ranges::none_of(report.runs, any) &&
      !(report.kernel && report.kernel->run && any(*report.kernel->run)))
    return {};
  return "past CR3: no group ended the search, and it took the best extent that CR3 had seen. "
         "Linux "
         "6.12.77 and later, and 6.17 and later, count these apart; other kernels count them as "
         "CR3's.";
}

namespace {

// Why what was recorded cannot be put together; empty when it can. A model that decides otherwise
// is not a reason, because the recorded result replaces the model's.
std::string cannot_show(const replay::Engine& followed) {
  if (followed.decisions() == 0) return "the trace closes no decision";
  constexpr std::uint64_t kFew = 100;  // one in so many
  const replay::ClosingCounts& all = followed.closings();
  const replay::Contradictions& c = followed.contradictions();
  const bool few = c.in_use <= all.allocated / kFew && c.not_in_use <= all.requests / kFew;
  if (few || followed.agreement().follows()) return {};
  return fmt::format(
      "the trace does not fit the image: {} of {} clusters that were handed out were in use, "
      "and {} frees were of what was not",
      format_count(c.in_use), format_count(all.allocated), format_count(c.not_in_use));
}

// Why the kernel's mb_stats is not what the trace recorded; empty when it is.
std::string other_requests(const stats::KnownCounters& stats, std::uint64_t closed) {
  const auto requests = stats.requests;
  if (requests == closed) return {};
  return fmt::format("mb_stats counts {} requests, the trace closes {}",
                     requests ? format_count(*requests) : "no", format_count(closed));
}

}  // namespace

RecordedKernel summarize_recorded(const replay::Run& followed, KernelStats kernel) {
  const replay::Engine& engine = *followed.engine;
  const replay::ClosingCounts& closings = engine.closings();
  RecordedKernel out;
  out.absent = cannot_show(engine);
  if (!out.absent.empty()) return out;
  results::Outcome run = results::outcome_of(followed);
  run.costs = {};
  run.discards.reset();  // the model's discards are not a record
  if (engine.discards() != nullptr && engine.recorded_discards().issued > 0)
    run.discards = engine.recorded_discards();
  run.decisions_hash = closings.hash.value();
  run.tally.requests = closings.requests;
  run.tally.failed = closings.failed;
  run.tally.allocated_blocks = engine.state().geometry().to_blocks(closings.allocated);
  out.why_not = std::move(kernel.why_not);
  if (kernel.stats) out.why_not = other_requests(*kernel.stats, closings.requests);
  run.searches = out.by_mb_stats() ? *kernel.stats : stats::KnownCounters();
  run.searches.add_missing(stats::known_counters(engine.policy(), closings));
  out.run = std::move(run);
  return out;
}

std::string recorded_text(const RecordedKernel& kernel) {
  if (!kernel.run) return fmt::format("no column for the recorded kernel: {}", kernel.absent);
  if (kernel.by_mb_stats()) return "recorded: searches as the kernel's mb_stats counts them";
  return fmt::format("recorded: searches as the trace shows them, since {}", kernel.why_not);
}

}  // namespace e4r::report
