// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "hunt/trial.h"

namespace e4r::hunt {

struct SearchOptions : Match {
  // Called before each trial; true ends the search. May be called from several threads at once.
  // Empty: the search makes all of its trials.
  std::function<bool()> enough = nullptr;
  std::uint64_t trials = 2000;  // total of all searches
  std::uint64_t seed = 1;
  unsigned threads = 0;  // 0: one per CPU. The answer does not depend on it
};

// The result of a search.
struct Found {
  Levels levels;
  Trial trial;
};
struct SearchTally {
  std::uint64_t trials = 0;
  std::uint64_t worse = 0;  // trials in which the second policy was worse
  std::uint64_t better = 0;
  std::uint64_t alike = 0;       // times are compared, and both decided alike
  std::uint64_t impossible = 0;  // ran out of space, made too few requests, had no such figure
  // In which a policy's kernel failed: base, with. Those of --with are among the worse ones.
  std::array<std::uint64_t, 2> failed = {};
  std::string base_failure;  // how that of --base failed first
};
struct SearchResult {
  std::optional<Found> best;  // the worst case; empty: no case is worse
  SearchTally tally;
};

// The Error: this build cannot search.
[[nodiscard]] Status check_search();

// Looks for the candidate with the highest score: several searches by controlled random search
// (NLopt's CRS2 with local mutation: Kaelo and Ali, 2006) run in parallel, each from a seed of its
// own. A search that finds a case in which the second policy's kernel fails ends: nothing is
// worse. `told` hears of each trial how many there were and which one is the worst case by now;
// null while no case is worse. Errors: the errors of a trial; "stopped" (Match::stop).
using SearchTold = std::function<void(std::uint64_t trials, const Trial* worst)>;
[[nodiscard]] Result<SearchResult> search(const Space& space, Starts& starts,
                                          const SearchOptions& options, const SearchTold& told);

}  // namespace e4r::hunt
