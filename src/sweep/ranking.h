// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/rows.h"
#include "sweep/manifest.h"

// Which of a sweep's points are best: by one figure, and by two that pull against each other.
namespace e4r::sweep {

// Figures of points by index, each as figures_of() has them; empty: not finished.
using Figures = std::vector<std::vector<report::Value>>;

// What a search costs: the sum of these rows. What it is for: files in few pieces.
inline constexpr std::string_view kCostRows[] = {"mb_stats/extents_scanned", "groups_considered"};
inline constexpr std::string_view kFragmentationRow = "files/extents";

// The row of that key, which must be one that is better lower or higher. The error lists those.
[[nodiscard]] Result<const report::Row*> find_metric(std::string_view key);
[[nodiscard]] std::vector<const report::Row*> metrics();

// A point's figure of a row; none: it is not finished or has none.
[[nodiscard]] report::Value figure(const Figures& figures, std::size_t index,
                                   const report::Row& row);

// The same by the row's key; none too when there is no such row.
[[nodiscard]] report::Value figure_of(const Figures& figures, std::size_t index,
                                      std::string_view key);
// The sum of kCostRows; none when one of them is missing.
[[nodiscard]] report::Value search_cost(const Figures& figures, std::size_t index);

// Whether one of the points leaves files. Where one does, those that leave none have no answer to
// how files lie: no piece at all is not few of them.
[[nodiscard]] bool leaves_files(const Figures& figures, const std::vector<std::size_t>& points);

// The finished points of one capture. Those of different captures are not held against each other.
struct Ranking {
  std::uint32_t capture = 0;
  std::vector<std::size_t> order;  // best first; equal ones by cost of searches, then by
                                   // number; those without a figure last
  std::vector<std::size_t> front;  // ascending: none beats it in cost or in fragmentation without
                                   // losing in the other
};
[[nodiscard]] std::vector<Ranking> rank(const Plan& plan, const Figures& figures,
                                        const report::Row& metric);

// Points of one policy that have the same figures, all of them.
struct EqualPoints {
  std::size_t index = 0;    // the one that changes least (Changes): it stands for all
  std::uint64_t count = 0;  // how many there are
};
// Those of a ranking, in its order.
[[nodiscard]] std::vector<EqualPoints> equal_points(const Plan& plan, const Figures& figures,
                                                    const Ranking& ranking);

// A table for a terminal: for each capture the `most` best rows (0: all), and those on the front,
// marked by '*'. Points that are equal share a row, which says how many they are.
[[nodiscard]] std::string ranking_text(const Plan& plan, const Figures& figures,
                                       const report::Row& metric, std::size_t most);

// The same as a document, all points in it.
[[nodiscard]] std::string summary_json(const Plan& plan, const Figures& figures,
                                       const report::Row& metric);

}  // namespace e4r::sweep
