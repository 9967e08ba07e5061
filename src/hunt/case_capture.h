// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "hunt/trial.h"
#include "util/output.h"

namespace e4r::hunt {

// The program and the command that made a capture.
struct Maker {
  std::string program;  // name and version
  std::string command;
};

// Plays the scene under the policy of `side`, and writes its start image and its trace as a
// capture. Returns the number of events.
[[nodiscard]] Result<std::uint64_t> write_case(const Scene& scene, const review::Side& side,
                                               const Maker& maker, const OutputName& output);

}  // namespace e4r::hunt
