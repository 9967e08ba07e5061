// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "allocator/preallocations.h"
#include "allocator/stream_goals.h"
#include "state/fs_state.h"
#include "state/mb_group.h"
#include "trace/source.h"
#include "util/status.h"

namespace e4r::allocator {
class Model;
}

namespace e4r::replay {

// What a file system that has been mounted for a while holds in memory, and no bitmap shows, when a
// recording begins. Every buddy is loaded: a look at mb_groups loads them.
struct WarmStart {
  // The recorded kernel took `group` where `other` would have come first: on the list where both
  // were from the start, `group` is in front.
  struct Precedence {
    state::OrderLists lists = state::OrderLists::largest;
    std::uint32_t group = 0;
    std::uint32_t other = 0;
  };

  std::vector<allocator::PlantedPrealloc> preallocs;
  std::vector<allocator::PlantedStreamGoal> streams;
  std::vector<state::MbGroup> groups;  // as given
  // The order in which groups came to their lists (kernels that keep such lists): nothing shows it
  // but the groups that searches take, so Session works it out by following the trace. By group;
  // empty: ascending.
  std::vector<std::uint32_t> rank_by_largest, rank_by_average;
  std::uint64_t precedences = 0;  // that were learnt
  // Puts groups in front of others, one after the other.
  void learn(const std::vector<Precedence>& precedences, std::uint32_t group_count);

  // Clusters of preallocations, in three counts: those that the trace shows (used or given back,
  // never made); those that only mb_groups knows, and whose place its counters show; those whose
  // place was not found.
  std::uint64_t shown_by_trace = 0;
  std::uint64_t found_by_counters = 0;
  std::uint64_t not_found = 0;
  std::uint64_t groups_not_explained = 0;  // whose counters are still not the kernel's

  // Puts all of it into the state, and loads every group.
  void put_into(allocator::Model& model) const;
};

// A policy's model of the start image; `warm`: what its file system held in memory, null when it
// was mounted a moment ago.
[[nodiscard]] std::unique_ptr<allocator::Model> make_model(const state::Source& source,
                                                           const allocator::Policy& policy,
                                                           const allocator::Tunables& tunables,
                                                           const WarmStart* warm);

// Works it out from the start image, the events, and mb_groups of the same moment as the image
// (empty: none). The model is that of Linux 6.1. What has been handed out of a preallocation is in
// use on disk, so what is left of it begins or ends a run of clusters that are free there, unless
// the file has gone (hidden_runs.h). `stream_req` (mb_stream_req of the recorded kernel, blocks): a
// file that is no longer takes from a CPU's preallocations.
[[nodiscard]] Result<WarmStart> deduce_warm_start(const state::Source& source,
                                                  trace::EventSource& events,
                                                  const std::vector<state::MbGroup>& groups,
                                                  std::uint64_t stream_req);

}  // namespace e4r::replay
