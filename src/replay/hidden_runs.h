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
  static constexpr std::size_t kMostAnswers = 32;

  // Each answer is a set of runs. If these are marked as in use, the bitmap has the kernel's
  // counters. The likeliest answer is first. Empty if nothing is hidden or no answer was found.
  std::vector<std::vector<ClusterRange>> answers;
  bool explained = true;
  std::uint32_t not_found = 0;  // clusters whose position is unknown
};

// The default size of a CPU's preallocation, in clusters: 512 blocks, but at least 32 clusters
// (6.1: MB_DEFAULT_GROUP_PREALLOC, ext4_mb_init). Unless mb_group_prealloc has been changed, each
// preallocation is cut from a chunk of that size.
[[nodiscard]] inline std::uint32_t cpu_prealloc(const Geometry& geometry) {
  return std::max(512u >> geometry.cluster_bits, 32u);
}

// Evidence from a trace about a group's free clusters at the start.
struct FreeEvidence {
  // A bitmap of clusters that were not in any preallocation. Empty if unknown.
  std::vector<std::uint64_t> known_free;
  // Each of these ranges contained at least one cluster in use.
  std::vector<ClusterRange> not_all_free;
};

// Looks for one or two runs of clusters that explain the given counters: once they are marked as in
// use, the bitmap has these counters. Each run is at the beginning or at the end of a free run. A
// run may also be in the middle of a free run if the file that preceded it was deleted. It then
// ends at a multiple of the size of a CPU's preallocation (512 blocks). No run contains clusters
// that are known to be free. Answers are ranked by the number of ranges of `not_all_free` that they
// touch, the highest number first. Among answers with the same number, one with a single run is
// better. After that, the answer whose ends are aligned to the largest power of two is better,
// because preallocations are cut from aligned chunks. If no two runs explain the counters,
// preallocations of several CPUs may explain them (hidden_tails.h). Finds no answer if the counters
// exceed the group's clusters.
[[nodiscard]] HiddenRuns find_hidden_runs(const Geometry& geometry, state::bitmap::ConstWords words,
                                          const state::MbGroup& shown,
                                          const FreeEvidence& evidence = {});

}  // namespace e4r::replay
