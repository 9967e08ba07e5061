// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "sweep/manifest.h"
#include "sweep/store.h"

// Makes points and results without a replay.
namespace e4r::sweep {

// Returns a plan with six points: two captures, two policies, and a tunable that one of the
// policies does not have.
[[nodiscard]] inline Plan small_plan() {
  PlanSpec spec;
  spec.captures = {"a.e4c", "b \"c\",d"};
  spec.policies = {allocator::find_policy("legacy"), allocator::find_policy("cr1.5")};
  spec.axes = {*parse_axis("mb_cr1_5_max_trim_order=3,5")};
  return *make_plan(std::move(spec));
}

// Returns a line with a possible result of the point.
[[nodiscard]] inline std::string made_line(const Plan& plan, std::size_t index,
                                           std::uint64_t scanned = 7) {
  results::Outcome run;
  run.policy = plan.points[index].policy;
  run.tally.requests = 100 + index;
  run.searches.extents_scanned = scanned;
  run.files.files = 3;
  run.files.extents = 4;
  return point_line(plan, index, run);
}

}  // namespace e4r::sweep
