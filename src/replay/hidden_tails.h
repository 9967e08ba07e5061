// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <vector>

#include "replay/hidden_runs.h"

namespace e4r::replay {

// Looks for preallocations of any number of CPUs that explain the given counters: once they are
// marked as in use, the bitmap has these counters. The group is divided into steps of
// cpu_prealloc() clusters. A preallocation takes up the last part of a step, and contains no
// cluster that is known to be free. Every step that contains a range of `not_all_free` has a
// preallocation, because the range is free in the bitmap. At most four further steps have a
// preallocation. Returns up to HiddenRuns::kMostAnswers answers, with as few further steps as
// possible. Gives up if there are too many combinations of steps.
[[nodiscard]] std::vector<std::vector<ClusterRange>> find_hidden_tails(
    const Geometry& geometry, state::bitmap::ConstWords words, const state::MbGroup& shown,
    const FreeEvidence& evidence);

}  // namespace e4r::replay
