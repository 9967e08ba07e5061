// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "hunt/trial.h"
#include "util/output.h"

namespace e4r::hunt {

// Who made a capture, and how.
struct Maker {
  std::string program;  // name and version
  std::string command;
};

// Plays the scene under the side, and writes its start image and its trace as a capture. Returns
// how many events it has.
[[nodiscard]] Result<std::uint64_t> write_case(const Scene& scene, const review::Side& side,
                                               const Maker& maker, const OutputName& output);

}  // namespace e4r::hunt
