// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sweep/ranking.h"

// The settings that a sweep recommends.
namespace e4r::sweep {

// Recommendations from the finished points of one capture, by index. All three answers are on the
// Pareto front. It is empty if figures are missing. Among points that are equal in both
// figures, the one that changes least is named: recorded values first, then the kernel's defaults,
// then the lower number.
struct Advice {
  std::uint32_t capture = 0;
  // Whether a point leaves files. If no point does, the cost of searches alone chooses all three;
  // otherwise a point that leaves no file is not a candidate.
  bool files = true;
  std::size_t cheapest = 0;  // least cost; among equals, fewest pieces
  std::size_t fewest = 0;    // fewest pieces; among equals, least cost
  // Least product of the cost of a request and of pieces. A request counts as one step and the
  // steps of its search: once searches cost next to nothing, pieces decide.
  std::size_t balanced = 0;
  std::size_t dearest = 0;  // highest cost
  // The point of the first policy with the recorded value of every tunable; nullopt if there is no
  // such point or it has no figures.
  std::optional<std::size_t> recorded;
  std::uint64_t points = 0;   // points with both figures
  std::uint64_t as_good = 0;  // other points that equal `balanced` in both
};
[[nodiscard]] std::vector<Advice> advise(const Plan& plan, const Figures& figures);
// The same for rankings that already exist, by any figure.
[[nodiscard]] std::vector<Advice> advise(const Plan& plan, const Figures& figures,
                                         const std::vector<Ranking>& rankings);

// Groups considered plus extents examined, per request; empty if the point lacks the figures.
[[nodiscard]] results::Value steps_per_request(const Figures& figures, std::size_t index);
// Extents per file.
[[nodiscard]] results::Value extents_per_file(const Figures& figures, std::size_t index);

// "cr1.5 with mb_order2_req=3".
[[nodiscard]] std::string point_name(const Plan& plan, std::size_t index);

// The advice as sentences.
[[nodiscard]] std::vector<std::string> sentences(const Plan& plan, const Figures& figures,
                                                 const Advice& advice);
// The advice for all captures on a terminal, one sentence per line; may be empty.
[[nodiscard]] std::string advice_text(const Plan& plan, const Figures& figures);

}  // namespace e4r::sweep
