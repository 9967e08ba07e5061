// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <vector>

#include "replay/hidden_runs.h"

namespace e4r::replay {

// Looks for preallocations of any number of CPUs which, marked as in use, turn the counters of the
// bitmap into the given ones. Each ends at the end of a step of cpu_prealloc() clusters, follows
// free clusters or a file, and takes no cluster that is known to be free. Every step that contains
// a range of `not_all_free` has a preallocation (each such range is free in the bitmap), and at
// most four further steps do. Returns up to HiddenRuns::kMostAnswers answers with as few further
// steps as possible. Gives up if there are too many combinations of steps.
[[nodiscard]] std::vector<std::vector<ClusterRange>> find_hidden_tails(
    const Geometry& geometry, state::bitmap::ConstWords words, const state::MbGroup& shown,
    const FreeEvidence& evidence);

}  // namespace e4r::replay
