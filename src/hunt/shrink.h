// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "hunt/search.h"

namespace e4r::hunt {

// The reduced worst case.
struct Shrunk {
  Levels levels;
  Scene scene;  // may have fewer operations than its levels would draw
  Trial trial;
  std::uint64_t trials = 0;
};

// Moves each parameter as near as possible to its plain value, and then leaves out operations
// (delta debugging: Zeller and Hildebrandt, 2002). A smaller case must keep three quarters of the
// score. Makes at most `most` trials.
[[nodiscard]] Result<Shrunk> shrink(const Space& space, Starts& starts,
                                    const SearchOptions& options, const Found& found,
                                    std::uint64_t most, const SearchTold& told);

}  // namespace e4r::hunt
