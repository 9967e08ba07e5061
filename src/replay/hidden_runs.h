// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ext4/geometry.h"
#include "state/buddy.h"
#include "state/group.h"

namespace e4r::replay {

// Clusters of a group that are free in its bitmap but not in the kernel's buddy.
struct HiddenRuns {
  std::vector<ClusterRange> runs;
  bool explained = true;        // marking them in use gives the kernel's counters
  std::uint32_t not_found = 0;  // clusters without a known place
};

// What a CPU preallocates: 512 blocks, cut from a chunk of that size unless mb_group_prealloc is
// set (6.1: MB_DEFAULT_GROUP_PREALLOC, ext4_mb_init). In clusters.
[[nodiscard]] inline std::uint32_t cpu_prealloc(const Geometry& geometry) {
  return std::max(512u >> geometry.cluster_bits, 32u);
}

// Looks for at most two runs of clusters that, marked in use, turn the counters of the bitmap into
// the given ones. Each run lies in a free run: at its beginning, at its end, or, if the file before
// it is gone, up to a multiple of what a CPU preallocates (512 blocks). Among several candidates,
// the one whose end is aligned to the largest power of two wins, because that is how preallocations
// are cut. No run takes clusters of `known_free`, a bitmap like `words`, or empty. Counters that
// exceed the group's clusters explain nothing.
[[nodiscard]] HiddenRuns find_hidden_runs(const Geometry& geometry, state::bitmap::ConstWords words,
                                          const state::MbGroup& shown,
                                          state::bitmap::ConstWords known_free = {});

}  // namespace e4r::replay
