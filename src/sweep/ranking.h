// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/rows.h"
#include "sweep/manifest.h"

// Finds the best points of a sweep, by one figure and by two conflicting figures.
namespace e4r::sweep {

// The figures of points, by index, as from figures_of(). Empty for an unfinished point.
using Figures = std::vector<std::vector<results::Value>>;

// The cost of searches is the sum of kCostRows. Their benefit is files in few pieces.
inline constexpr std::string_view kCostRows[] = {"mb_stats/extents_scanned", "groups_considered"};
inline constexpr std::string_view kFragmentationRow = "files/extents";

// Finds a row by its key. Error: no such row, or one where neither lower nor higher is better; it
// lists the others.
[[nodiscard]] Result<const results::Row*> find_metric(std::string_view key);
[[nodiscard]] std::vector<const results::Row*> metrics();

// A point's figure in a row; empty if the point is not finished or lacks the figure.
[[nodiscard]] results::Value figure(const Figures& figures, std::size_t index,
                                    const results::Row& row);

// The same by the row's key; also empty if there is no such row.
[[nodiscard]] results::Value figure_of(const Figures& figures, std::size_t index,
                                       std::string_view key);
// The sum of kCostRows; empty if one of them is missing.
[[nodiscard]] results::Value search_cost(const Figures& figures, std::size_t index);

// Whether one of the points leaves files. If one does, points without files do not count for the
// layout of files: no piece at all is not the same as few pieces.
[[nodiscard]] bool leaves_files(const Figures& figures, const std::vector<std::size_t>& points);

// The finished points of one capture. Points of different captures are not compared with each
// other.
struct Ranking {
  std::uint32_t capture = 0;
  std::vector<std::size_t> order;  // best first; equal ones by cost of searches, then by
                                   // number; those without a figure last
  std::vector<std::size_t> front;  // ascending: none beats it in cost or in fragmentation without
                                   // losing in the other
};
[[nodiscard]] std::vector<Ranking> rank(const Plan& plan, const Figures& figures,
                                        const results::Row& metric);

// Points of one policy with the same figures throughout.
struct EqualPoints {
  std::size_t index = 0;    // the point that changes least (Changes), which represents all
  std::uint64_t count = 0;  // number of points
};
// The groups of equal points in a ranking, in its order.
[[nodiscard]] std::vector<EqualPoints> equal_points(const Plan& plan, const Figures& figures,
                                                    const Ranking& ranking);

// A table for a terminal. For each capture it has the `most` best rows (0: all) and those on the
// front, which are marked with '*'. Equal points share a row that gives their number.
[[nodiscard]] std::string ranking_text(const Plan& plan, const Figures& figures,
                                       const results::Row& metric, std::size_t most);

// The same as a JSON document with all points.
[[nodiscard]] std::string summary_json(const Plan& plan, const Figures& figures,
                                       const results::Row& metric);

}  // namespace e4r::sweep
