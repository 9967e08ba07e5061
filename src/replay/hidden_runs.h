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

  // Each answer is a set of runs which, marked as in use, give the kernel's counters. The likeliest
  // answer is first. Empty if nothing is hidden or there is no answer.
  std::vector<std::vector<ClusterRange>> answers;
  bool explained = true;
  std::uint32_t not_found = 0;  // clusters whose position is unknown
};

// The size in clusters of a CPU's preallocation: 512 blocks, cut from a chunk of that size unless
// mb_group_prealloc is set (6.1: MB_DEFAULT_GROUP_PREALLOC, ext4_mb_init).
[[nodiscard]] inline std::uint32_t cpu_prealloc(const Geometry& geometry) {
  return std::max(512u >> geometry.cluster_bits, 32u);
}

// Evidence from a trace about a group's free clusters at the start.
struct FreeEvidence {
  // A bitmap of clusters that were in no preallocation. Empty if unknown.
  std::vector<std::uint64_t> known_free;
  // Each of these ranges contained at least one cluster in use.
  std::vector<ClusterRange> not_all_free;
};

// Looks for at most two runs of clusters that, marked in use, turn the counters of the bitmap into
// the given ones. Each run lies in a free run: at its beginning, at its end, or, if the file before
// it was deleted, it ends at a multiple of the size of a CPU's preallocation (512 blocks). No run
// takes clusters that are known to be free. The best answer touches the most ranges of
// `not_all_free`. Among equals, it is the one whose runs end at the largest power of two, because
// preallocations are cut that way, and then the lowest. If two runs do not explain the counters,
// preallocations of several CPUs may (hidden_tails.h). Counters that exceed the group's clusters
// have no answer.
[[nodiscard]] HiddenRuns find_hidden_runs(const Geometry& geometry, state::bitmap::ConstWords words,
                                          const state::MbGroup& shown,
                                          const FreeEvidence& evidence = {});

}  // namespace e4r::replay
