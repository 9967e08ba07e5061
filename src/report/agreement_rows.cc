// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/agreement_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "util/units.h"

namespace e4r::report {

std::string share_text(const replay::Agreement& agreement, std::uint64_t of) {
  const auto percent = agreement.percent(of);
  if (!percent) return "-";
  // Rounding makes no whole of what is less.
  constexpr double kJustBelow = 99.999;
  return fmt::format("{:.3f} %",
                     of < agreement.requests ? std::min(*percent, kJustBelow) : *percent);
}

std::vector<AgreementRow> agreement_rows(const replay::Agreement& a) {
  std::vector<AgreementRow> out = {
      {"decisions", "requests", a.requests, false},
      {"identical", "identical", a.identical, true},
      {"  same block", "same_block", a.same_block, true},
      {"  same length", "same_length", a.same_length, true},
      {"  same criterion", "same_criterion", a.same_criterion, true},
      {"  same extents found", "same_found", a.same_found, true},
      {"  same groups scanned", "same_groups_scanned", a.same_groups_scanned, true}};
  const auto add = [&](const char* label, const char* key, std::uint64_t count) {
    if (count > 0) out.push_back({label, key, count, false});
  };
  add("last divergence, decision", "last_divergence", a.last_divergence);
  add("overlapping another thread", "races", a.races);
  add("a locked group passed over", "skips", a.skips);
  add("decided at the answer", "decided_at_answer", a.late);
  add("put right (resync)", "forced", a.forced);
  add("clusters in conflict", "conflicting_clusters", a.conflicts);
  return out;
}

std::string groups_text(const results::Outcome& run) {
  if (!run.groups) return {};
  const stats::MbGroupsComparison& g = *run.groups;
  return g.equal() ? fmt::format("mb_groups: all {} groups equal", format_count(g.compared))
                   : fmt::format("mb_groups: {} of {} groups differ, first {}",
                                 format_count(g.differing), format_count(g.compared), g.first);
}

std::string stats_text(const results::Outcome& run) {
  if (!run.kernel_stats) return {};
  const stats::MbStatsComparison& s = *run.kernel_stats;
  std::string text =
      fmt::format("mb_stats: {} of {} counters equal", s.compared - s.differing.size(), s.compared);
  if (!s.missing.empty())
    text += fmt::format(" (missing in the kernel's text: {})", fmt::join(s.missing, ", "));
  if (!s.not_modelled.empty())
    text += fmt::format(" (not modelled: {})", fmt::join(s.not_modelled, ", "));
  return text;
}

}  // namespace e4r::report
