// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/policy.h"
#include "allocator/tunables.h"
#include "util/status.h"

// A sweep: one trace or several, replayed under every combination of policies and tunables.
namespace e4r::sweep {

// No sweep has more combinations than that.
inline constexpr std::uint64_t kMostCombinations = 100'000;

// A tunable and the values that it takes, in the order given.
struct Axis {
  const allocator::TunableInfo* tunable = nullptr;
  std::vector<std::uint64_t> values;
};

// "NAME=V1,V2,..." or "NAME=A..B[:STEP]", a list of values and ranges; B belongs to the range when
// a step meets it. Errors: an unknown tunable, a value too large for it or given twice, a range
// that runs backwards, a step of 0, more than kMostCombinations values.
[[nodiscard]] Result<Axis> parse_axis(std::string_view text);

// One replay. Points are numbered from 1.
struct Point {
  std::uint32_t capture = 0;  // index into PlanSpec::captures
  const allocator::Policy* policy = nullptr;
  // For each axis; none: the policy does not have the tunable (allocator::has_tunable).
  std::vector<std::optional<std::uint64_t>> values;
};

// What a sweep is to go through.
struct PlanSpec {
  std::vector<std::string> captures;  // names, each once
  std::vector<const allocator::Policy*> policies;
  std::vector<Axis> axes;
  std::string where;  // a condition (Where), asked of each combination; empty: all
};

// All points, in order: by capture, by policy, and the last axis fastest. Of combinations that
// differ only in tunables that their policy does not have, the first stands for all.
struct Plan {
  PlanSpec spec;
  std::vector<Point> points;
  std::uint64_t combinations = 0;
  std::uint64_t rejected = 0;  // by the condition
  std::uint64_t merged = 0;    // into a point before them
  // What each capture's kernel had, by capture; empty: not known (yet).
  std::vector<allocator::Tunables> recorded_by_capture;

  // Applies the point's values to a capture's recorded tunables.
  [[nodiscard]] allocator::Tunables tunables(const Point& point,
                                             const allocator::Tunables& recorded) const;
};

// How much a point changes. Of two points with the same figures, the one that changes less is
// named.
struct Changes {
  std::uint64_t of_recorded = 0;  // tunables that differ from what the capture's kernel had
  std::uint64_t of_default = 0;   // from the kernel's defaults
  std::size_t index = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): it takes what the compiler makes of this for a 0
  auto operator<=>(const Changes&) const = default;
};
[[nodiscard]] Changes changes(const Plan& plan, std::size_t index);

// Errors: nothing to sweep over, something given twice, too many combinations, a condition that
// cannot be read or that no combination meets.
[[nodiscard]] Result<Plan> make_plan(PlanSpec spec);

// "mb_order2_req=2 mb_stripe=-": what the point sets; empty when there are no axes.
[[nodiscard]] std::string settings_text(const Plan& plan, const Point& point);

}  // namespace e4r::sweep
