// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/replay_report.h"

#include <algorithm>
#include <utility>

#include "trace/trace.h"

namespace e4r::report {

bool RunReport::agrees() const {
  const auto all = [](const std::optional<replay::Agreement>& a) { return !a || a->complete(); };
  return all(agreement) && all(free_run) && (!groups || groups->equal()) &&
         (!kernel_stats || kernel_stats->equal());
}

std::string kernel_text(const ReplayReport& report) {
  return report.release.empty() ? std::string(trace::kernel_of(report.trace)) : report.release;
}

RunReport summarize(const replay::Run& run) {
  const replay::Engine& engine = *run.engine;
  const state::Geometry& geometry = engine.state().geometry();
  constexpr std::uint32_t kMiBBits = 20;
  RunReport out;
  out.policy = &engine.policy();
  out.tunables = engine.tunables();
  out.tally = engine.tally();
  out.counters = engine.counters();
  out.mb_stats = stats::mb_stats(engine.policy(), engine.counters());
  stats::SettledFree free =
      stats::settled_free(engine.state(), kMiBBits - std::min(geometry.block_bits, kMiBBits));
  out.free_extents = free.extents;
  out.space = std::move(free.space);
  out.files = stats::file_fragmentation(engine.files());
  out.layout = stats::file_layout_score(engine.files());
  out.costs = engine.costs();
  out.write_order = engine.write_order();
  out.elapsed_s = run.elapsed_s;
  return out;
}

}  // namespace e4r::report
