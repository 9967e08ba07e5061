// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "allocator/preallocations.h"
#include "allocator/stream_goals.h"
#include "state/fs_state.h"
#include "state/group.h"
#include "trace/event.h"
#include "util/status.h"

namespace e4r::allocator {
class Model;
}

namespace e4r::replay {

struct Checkpoint;

// What a file system that has been mounted for a while holds in memory when a recording begins, and
// no bitmap shows. Every buddy is loaded, because reading mb_groups loads them.
struct WarmStart {
  // The recorded kernel took `group` although `other` would have come first. So `group` is in front
  // on the list that has held both from the start.
  struct Precedence {
    state::OrderLists lists = state::OrderLists::largest;
    std::uint32_t group = 0;
    std::uint32_t other = 0;
  };

  // Preallocations of one group that the counters of mb_groups alone show. Several answers may
  // explain them.
  struct Hidden {
    std::uint32_t group = 0;
    std::size_t taken = 0;  // index of the answer that is taken
    std::vector<std::vector<ClusterRange>> answers;

    [[nodiscard]] const std::vector<ClusterRange>& runs() const { return answers[taken]; }
  };

  std::vector<allocator::PlantedPrealloc> preallocs;  // that events show
  std::vector<Hidden> hidden;
  std::vector<allocator::PlantedStreamGoal> streams;
  std::vector<state::MbGroup> groups;  // as given
  // The order in which groups came to their lists, on kernels that have such lists. Only the groups
  // that searches take show it, so Session works it out while it follows the trace. Indexed by
  // group; empty: ascending.
  std::vector<std::uint32_t> rank_by_largest, rank_by_average;
  std::uint64_t precedences = 0;  // number of precedences learnt
  // All of it, if a recorder has kept it; then only what is learnt counts beside it.
  std::shared_ptr<const Checkpoint> checkpoint;
  std::vector<Precedence> behind_checkpoint;  // learnt
  // Puts groups in front of others, one after the other.
  void learn(const std::vector<Precedence>& precedences, std::uint32_t group_count);

  // Clusters of preallocations: shown by the trace, which uses them or gives them back but does not
  // make them; placed by the counters of mb_groups alone; and those without a known place.
  std::uint64_t shown_by_trace = 0;
  std::uint64_t found_by_counters = 0;
  std::uint64_t not_found = 0;
  std::uint64_t groups_not_explained = 0;  // groups whose counters still differ from the kernel's

  // How many preallocations and stream goals it has.
  [[nodiscard]] std::size_t prealloc_count() const;
  [[nodiscard]] std::size_t stream_count() const;

  // Puts all of it into the state, and loads every group.
  void put_into(allocator::Model& model) const;
};

// Makes a policy's model of the start image. `warm`: what the file system held in memory; null if
// it had just been mounted.
[[nodiscard]] std::unique_ptr<allocator::Model> make_model(const state::Source& source,
                                                           const allocator::Policy& policy,
                                                           const allocator::Tunables& tunables,
                                                           const WarmStart* warm);

// Deduces the warm start from the start image, the events, and mb_groups of the moment of the image
// (may be empty). It uses the model of Linux 6.1. Blocks handed out of a preallocation are in use
// on disk. So the rest of a preallocation begins or ends a run of clusters that are free there,
// unless the file has gone (hidden_runs.h). `stream_req`: mb_stream_req of the recorded kernel in
// blocks. A file of at most this size takes blocks from a CPU's preallocations.
[[nodiscard]] Result<WarmStart> deduce_warm_start(const state::Source& source,
                                                  trace::EventSource& events,
                                                  const std::vector<state::MbGroup>& groups,
                                                  std::uint64_t stream_req);

}  // namespace e4r::replay
