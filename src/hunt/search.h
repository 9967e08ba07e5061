// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "hunt/trial.h"

namespace e4r::hunt {

struct SearchOptions : Match {
  // Called before each trial; if it returns true, the search ends. May be called from several
  // threads at once. If empty, the search makes all its trials.
  std::function<bool()> enough = nullptr;
  std::uint64_t trials = 2000;  // total of all searches
  std::uint64_t seed = 1;
  unsigned threads = 0;  // 0: one per CPU. Does not affect the result
};

// The result of a search.
struct Found {
  Levels levels;
  Trial trial;
};
struct SearchTally {
  std::uint64_t trials = 0;
  std::uint64_t worse = 0;  // number of trials in which the second policy was worse
  std::uint64_t better = 0;
  std::uint64_t alike = 0;       // trials that compare times, with equal decisions
  std::uint64_t impossible = 0;  // trials without the figure, or without enough space or requests
  // Trials in which a policy's kernel failed, for --base and --with. The trials in which the kernel
  // of --with failed are also counted as worse.
  std::array<std::uint64_t, 2> failed = {};
  std::string base_failure;  // how the kernel of --base failed the first time
};
struct SearchResult {
  std::optional<Found> best;  // the worst case; nullopt: no case is worse
  SearchTally tally;
};

// Fails if this build cannot search.
[[nodiscard]] Status check_search();

// Searches for the candidate with the highest score. Several controlled random searches (NLopt's
// CRS2 with local mutation: Kaelo and Ali, 2006) run in parallel, each with its own seed. A search
// ends if it finds a case in which the second policy's kernel fails, since nothing can be worse.
// `on_trial` is called for each trial with the number of trials so far and the worst case so far,
// or null if no case is worse. Errors: the errors of a trial; "stopped" (Match::stop).
using OnTrial = std::function<void(std::uint64_t trials, const Trial* worst)>;
[[nodiscard]] Result<SearchResult> search(const Space& space, Starts& starts,
                                          const SearchOptions& options, const OnTrial& on_trial);

}  // namespace e4r::hunt
