// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <vector>

#include "replay/hidden_runs.h"

namespace e4r::replay {

// Looks for any number of CPUs' preallocations that, marked in use, turn the counters of the bitmap
// into the given ones. Each ends where a step of cpu_prealloc() clusters ends, has free clusters or
// a file in front of it, and takes no cluster that is known to be free. A step in which the trace
// shows that not all is free has one (each part of `not_all_free` is free in the bitmap); at most
// four further steps have one. Returns up to HiddenRuns::kMostAnswers answers with as few further
// steps as possible. Gives up where too many steps are possible to try them all.
[[nodiscard]] std::vector<std::vector<ClusterRange>> find_hidden_tails(
    const Geometry& geometry, state::bitmap::ConstWords words, const state::MbGroup& shown,
    const FreeEvidence& evidence);

}  // namespace e4r::replay
