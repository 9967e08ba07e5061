// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "hunt/search.h"

namespace e4r::hunt {

// The case that a search has found, made small.
struct Shrunk {
  Levels levels;
  Scene scene;  // has fewer operations than its levels draw
  Trial trial;
  std::uint64_t trials = 0;
};

// Brings each parameter as near to its plain value as it goes, and then leaves out operations
// (delta debugging: Zeller and Hildebrandt, 2002), for as long as three quarters of the powers
// of two are left by which the second policy is worse. Makes `most` trials at most.
[[nodiscard]] Result<Shrunk> shrink(const Space& space, Starts& starts,
                                    const SearchOptions& options, const Found& found,
                                    std::uint64_t most, const SearchTold& told);

}  // namespace e4r::hunt
