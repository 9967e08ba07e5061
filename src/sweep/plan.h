// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/policy.h"
#include "allocator/tunables.h"
#include "replay/session.h"
#include "util/condition.h"
#include "util/status.h"

// A sweep: one or several traces, replayed under all combinations of policies and tunables.
namespace e4r::sweep {

// The names that a condition may use. The vocabulary must outlive conditions parsed with it.
struct Vocabulary {
  std::vector<std::string_view> tunables;  // the tunables that the sweep sets
  std::vector<std::string_view> policies;  // the sweep's policies, by their own names
  std::vector<std::string_view> captures;
};

// A combination. `values` has one value per tunable of the vocabulary, in the same order.
struct Combination {
  std::span<const std::uint64_t> values;
  std::string_view policy;
  std::string_view capture;
};

// The condition of --where (util/condition.h), which selects the points of a sweep. Its figures are
// the tunables. Its words are `policy` and `capture`, which are compared with names of the sweep's
// policies and captures. A policy's alias stands for the policy.
class Where {
 public:
  // The Error gives the 1-based position and the fault. For an unknown name it lists the known
  // ones. An empty condition always holds.
  [[nodiscard]] static Result<Where> parse(std::string_view text, const Vocabulary& vocabulary);

  [[nodiscard]] bool holds(const Combination& point) const;

 private:
  Condition condition_;
};

// The limit on combinations in a sweep.
inline constexpr std::uint64_t kMostCombinations = 100'000;

// A tunable and its values, in the given order.
struct Axis {
  const allocator::TunableInfo* tunable = nullptr;
  std::vector<std::uint64_t> values;
};

// Parses "NAME=V1,V2,..." or "NAME=A..B[:STEP]": a list of values and ranges. A range includes B if
// a step reaches it. Errors: an unknown tunable; a value that is too large or repeated; a range
// that runs backwards; a step of 0; more than kMostCombinations values.
[[nodiscard]] Result<Axis> parse_axis(std::string_view text);

// One replay. Points are numbered from 1.
struct Point {
  std::uint32_t capture = 0;  // index into PlanSpec::captures
  const allocator::Policy* policy = nullptr;
  // One per axis; nullopt if the policy lacks the tunable (allocator::has_tunable).
  std::vector<std::optional<std::uint64_t>> values;
};

// The captures, policies and values that a sweep covers.
struct PlanSpec {
  std::vector<std::string> captures;  // names, without repetition
  std::vector<const allocator::Policy*> policies;
  std::vector<Axis> axes;
  std::string where;  // a condition on combinations (Where); empty if not given
};

// All points, ordered by capture, then by policy; the last axis changes fastest. Combinations that
// differ only in tunables that their policy lacks are merged into the first of them.
struct Plan {
  PlanSpec spec;
  std::vector<Point> points;
  std::uint64_t combinations = 0;
  std::uint64_t rejected = 0;  // excluded by the condition
  std::uint64_t merged = 0;    // equal to an earlier point
  // The tunables of each capture's kernel; empty while they are unknown.
  std::vector<allocator::Tunables> recorded_by_capture;
  // For each capture, the reasons why its results are doubtful (doubts_of()). The string is empty,
  // or missing, if there are no doubts.
  std::vector<std::string> doubts;

  // Applies the point's values to a capture's recorded tunables.
  [[nodiscard]] allocator::Tunables tunables(const Point& point,
                                             const allocator::Tunables& recorded) const;
};

// The number of tunables that a point changes. If several points have the same figures, the one
// with the fewest changes is recommended.
struct Changes {
  std::uint64_t of_recorded = 0;  // tunables that differ from the recorded ones
  std::uint64_t of_default = 0;   // tunables that differ from the kernel's defaults
  std::size_t index = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): a false positive: the compiler generates a 0
  auto operator<=>(const Changes&) const = default;
};
[[nodiscard]] Changes changes(const Plan& plan, std::size_t index);

// Makes all points of a sweep. Errors: nothing to sweep over; anything given twice; too many
// combinations; a condition that is invalid or that no combination meets.
[[nodiscard]] Result<Plan> make_plan(PlanSpec spec);

// The settings of a point, such as "mb_order2_req=2 mb_stripe=-"; empty without axes.
[[nodiscard]] std::string settings_text(const Plan& plan, const Point& point);

// A capture that is open and has been followed. All its points share it and only read it.
struct Subject {
  const replay::Session* session = nullptr;  // null if none of its points needs to run
  allocator::Tunables recorded;
  std::string doubt;  // report::doubt_text() for the capture
  // Makes the setup for replaying the capture under a policy.
  std::function<replay::Setup(const allocator::Policy&, const allocator::Tunables&)> setup;
};

struct Work {
  const Plan& plan;
  std::span<const std::size_t> points;      // indexes; points of the same capture start in this
                                            // order
  std::span<const Subject> subjects;        // by PlanSpec::captures
  unsigned threads = 0;                     // 0: one per CPU
  const std::atomic<bool>* stop = nullptr;  // once set, no further point starts
};

// Replays the points in threads. Each thread runs several points at a time (Session::in_lockstep).
// When all of these are finished, the line of each point (store.h) is passed to `done` on the
// thread that ran it, and its engine is freed. So memory use depends only on the number of running
// points. Returns when no point is running. The Error is the first one of a replay or of `done`; no
// point starts after it.
[[nodiscard]] Status run_points(
    const Work& work, const std::function<Status(std::size_t index, std::string line)>& done);

}  // namespace e4r::sweep
