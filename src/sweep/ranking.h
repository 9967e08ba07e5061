// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/rows.h"
#include "sweep/manifest.h"
#include "sweep/store.h"

// Finds the best points of a sweep, by one figure and by two conflicting figures.
namespace e4r::sweep {

// The figures of points, by index, as from figures_of(). Empty for unfinished points.
using Figures = std::vector<std::vector<results::Value>>;

// The cost of searches is the sum of these rows. Their benefit is that files consist of few pieces.
inline constexpr std::string_view kCostRows[] = {"mb_stats/extents_scanned", "groups_considered"};
inline constexpr std::string_view kFragmentationRow = "files/extents";

// Returns why the results for the capture are doubtful; empty if nothing is known against them.
[[nodiscard]] std::string doubt_of(const Plan& plan, std::size_t capture);

// Finds a row by its key. The Error says that there is no such row, or that neither direction of
// its figure is better; it lists the valid keys.
[[nodiscard]] Result<const results::Row*> find_metric(std::string_view key);
[[nodiscard]] std::vector<const results::Row*> metrics();

// A point's figure in a row; empty if the point is not finished or lacks the figure.
[[nodiscard]] results::Value figure(const Figures& figures, std::size_t index,
                                    const results::Row& row);

// A point's figure in the row with that key; also empty if no row has that key.
[[nodiscard]] results::Value figure_of(const Figures& figures, std::size_t index,
                                       std::string_view key);
// The sum of kCostRows; empty if one of them is missing.
[[nodiscard]] results::Value search_cost(const Figures& figures, std::size_t index);

// Whether one of the points leaves files. If so, points without files do not count for the layout
// of files: having no pieces is not better than having few.
[[nodiscard]] bool leaves_files(const Figures& figures, const std::vector<std::size_t>& points);

// The finished points of one capture. Points of different captures are not compared with each
// other.
struct Ranking {
  std::uint32_t capture = 0;
  std::vector<std::size_t> order;  // best first; equal ones by cost of searches, then by number;
                                   // those without a figure last
  std::vector<std::size_t> front;  // ascending: the points that no other point beats in cost or
                                   // fragmentation without losing in the other
};
[[nodiscard]] std::vector<Ranking> rank(const Plan& plan, const Figures& figures,
                                        const results::Row& metric);

// Points of one policy that have the same values of all figures.
struct EqualPoints {
  std::size_t index = 0;    // represents all of them: the point that changes least (Changes)
  std::uint64_t count = 0;  // number of points
};
// The groups of equal points in a ranking, in its order.
[[nodiscard]] std::vector<EqualPoints> equal_points(const Plan& plan, const Figures& figures,
                                                    const Ranking& ranking);

// A table for a terminal. For each capture it shows the `most` best rows (0: all) and the rows on
// the front, which are marked with '*'. Equal points share a row that gives their number.
[[nodiscard]] std::string ranking_text(const Plan& plan, const Figures& figures,
                                       const results::Row& metric, std::size_t most);

// The same ranking as a JSON document, with all points.
[[nodiscard]] std::string summary_json(const Plan& plan, const Figures& figures,
                                       const results::Row& metric);

// The settings that a sweep recommends.

// Recommendations from the finished points of one capture. Points are given by index. The three
// answers (cheapest, fewest, balanced) are on the Pareto front. No Advice is given if figures are
// missing. Among points that are equal in both figures, the one that changes least is named:
// recorded values first, then the kernel's defaults, then the lower number.
struct Advice {
  std::uint32_t capture = 0;
  // Whether at least one point leaves files. If none does, all three answers depend only on the
  // cost of searches. Otherwise a point that leaves no file is not a candidate.
  bool files = true;
  std::size_t cheapest = 0;  // least cost; if equal, fewest pieces
  std::size_t fewest = 0;    // fewest pieces; if equal, least cost
  // Least product of the cost of requests and the number of pieces. A request costs one step plus
  // the steps of its search, so if searches cost next to nothing, pieces decide.
  std::size_t balanced = 0;
  std::size_t costliest = 0;  // highest cost
  // The point of the first policy with the recorded value of every tunable. Empty if there is no
  // such point or it has no figures.
  std::optional<std::size_t> recorded;
  std::uint64_t points = 0;   // points with both figures
  std::uint64_t as_good = 0;  // other points that equal `balanced` in both figures
};
[[nodiscard]] std::vector<Advice> advise(const Plan& plan, const Figures& figures);
// Gives the same advice, but uses existing rankings, which may be by any figure.
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

// Writes a finished sweep to files.

// The figures of all lines.
[[nodiscard]] Figures figures_of(const Lines& lines);

// The finished points in order, one line each (points.jsonl).
[[nodiscard]] std::string points_jsonl(const Lines& lines);

// CSV with a header. The columns are point, capture, policy, one for each axis, and one for each
// figure, named by its key. A missing value is empty. Quoted as in RFC 4180, but lines end in LF.
[[nodiscard]] std::string points_csv(const Plan& plan, const Figures& figures);

// A database with the same content in a table `points`; a missing value is NULL. The file is
// complete or absent. No other process may write to its directory.
[[nodiscard]] Status write_sqlite(const std::string& path, const Plan& plan,
                                  const Figures& figures);

// Writes all these files and the summary to the store's directory, then removes the journal.
[[nodiscard]] Status write_results(Store& store, const Plan& plan, const Figures& figures,
                                   const results::Row& metric);

// A page about the finished points: the advice (ranking.h), plots of every figure over one and two
// tunables, and a plot of the cost of searches against the number of pieces of files. The page
// shows `metric` first.
[[nodiscard]] std::string sweep_html(const Plan& plan, const Figures& figures,
                                     const results::Row& metric);

}  // namespace e4r::sweep
