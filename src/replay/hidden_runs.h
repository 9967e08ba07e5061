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

  // Runs that, marked in use, give the kernel's counters; the likeliest answer first. Empty if
  // nothing is hidden, or if there is no answer.
  std::vector<std::vector<ClusterRange>> answers;
  bool explained = true;
  std::uint32_t not_found = 0;  // clusters without a known place
};

// What a CPU preallocates: 512 blocks, cut from a chunk of that size unless mb_group_prealloc is
// set (6.1: MB_DEFAULT_GROUP_PREALLOC, ext4_mb_init). In clusters.
[[nodiscard]] inline std::uint32_t cpu_prealloc(const Geometry& geometry) {
  return std::max(512u >> geometry.cluster_bits, 32u);
}

// What a trace shows of a group's free clusters at the start.
struct FreeEvidence {
  // A bitmap: clusters that were in no preallocation. Empty: unknown.
  std::vector<std::uint64_t> known_free;
  // Each of these holds at least one cluster in use.
  std::vector<ClusterRange> not_all_free;
};

// Looks for at most two runs of clusters that, marked in use, turn the counters of the bitmap into
// the given ones. Each run lies in a free run: at its beginning, at its end, or, if the file before
// it is gone, up to a multiple of what a CPU preallocates (512 blocks). No run takes clusters that
// are known to be free. The best answer lies in most of `not_all_free`; then, the ends of its runs
// are aligned to the largest power of two, because that is how preallocations are cut; then, it is
// the lowest. If two runs explain too little, more CPUs' preallocations may do (hidden_tails.h).
// Counters that exceed the group's clusters explain nothing.
[[nodiscard]] HiddenRuns find_hidden_runs(const Geometry& geometry, state::bitmap::ConstWords words,
                                          const state::MbGroup& shown,
                                          const FreeEvidence& evidence = {});

}  // namespace e4r::replay
