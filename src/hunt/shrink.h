// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "app/inputs.h"
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

// A decision of a capture, and each policy's treatment of it.
struct ExplainedDecision {
  std::uint64_t decision = 0;  // its number, from 1; 0: no decision
  std::array<std::string, 2>
      by;  // explanations with several lines; "": the policy did not need this request
};

// The replay of a case's capture, as any user would run it.
struct Replayed {
  std::uint64_t decisions = 0;
  std::uint64_t followed = 0;  // of these, as the model of the recorded policy makes them
  Trial trial;                 // the objective on it; or which kernel failed, and at which decision
  ExplainedDecision parting;   // the first one for which the second policy finds another place
  ExplainedDecision dearest;   // the one that costs the second policy most steps
};
[[nodiscard]] Result<Replayed> replay_case(const std::string& path, const SearchOptions& search,
                                           const app::Listener& listener);

}  // namespace e4r::hunt
