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

// Moves each parameter of the worst case as near as possible to its plain value, and then removes
// operations (delta debugging: Zeller and Hildebrandt, 2002). A smaller case must keep three
// quarters of the score. Makes at most `most` trials.
[[nodiscard]] Result<Shrunk> shrink(const Space& space, Starts& starts,
                                    const SearchOptions& options, const Found& found,
                                    std::uint64_t most, const OnTrial& on_trial);

// A decision of a capture, and how each policy made it.
struct ExplainedDecision {
  std::uint64_t decision = 0;     // number of the decision, from 1; 0: no decision
  std::array<std::string, 2> by;  // explanations; "": the policy did not need this request
};

// The replay of a case's capture, run as a user would run it.
struct Replayed {
  std::uint64_t decisions = 0;
  std::uint64_t followed = 0;  // decisions that the model of the recorded policy follows
  Trial trial;  // values of the objective in this replay, or which kernel failed at which decision
  ExplainedDecision parting;    // the first decision for which the second policy finds other blocks
  ExplainedDecision costliest;  // the decision that costs the second policy the most steps
};
[[nodiscard]] Result<Replayed> replay_case(const std::string& path, const SearchOptions& search,
                                           const app::Listener& listener);

}  // namespace e4r::hunt
