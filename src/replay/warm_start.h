// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "allocator/planted.h"
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

// The in-memory state of a file system that was mounted before a recording began, beyond what its
// bitmaps show. Every buddy is loaded, because reading mb_groups loads them.
struct WarmStart {
  // The recorded kernel took `group`, although the model would have taken `other` first. So `group`
  // comes before `other` on the list that has held both since the start.
  struct Precedence {
    state::OrderLists lists = state::OrderLists::largest;
    std::uint32_t group = 0;
    std::uint32_t other = 0;
  };

  // Preallocations of one group that are known only from the counters of mb_groups. Several answers
  // may explain the counters.
  struct Hidden {
    std::uint32_t group = 0;
    std::size_t taken = 0;  // index of the answer in use
    std::vector<std::vector<ClusterRange>> answers;

    [[nodiscard]] const std::vector<ClusterRange>& runs() const { return answers[taken]; }
  };

  std::vector<allocator::PlantedPrealloc> preallocs;  // known from events
  std::vector<Hidden> hidden;
  std::vector<allocator::PlantedStreamGoal> streams;
  std::vector<state::MbGroup> groups;  // as given
  // The order in which groups joined their lists, on kernels that have such lists. Only the groups
  // that searches take show it, so Session derives it while it follows the trace. Indexed by group;
  // empty: ascending.
  std::vector<std::uint32_t> rank_by_largest, rank_by_average;
  std::uint64_t precedences = 0;  // number of precedences learned
  // The complete state, if a recorder has saved it. It then replaces everything else except the
  // learned precedences.
  std::shared_ptr<const Checkpoint> checkpoint;
  std::vector<Precedence> behind_checkpoint;  // precedences learned in addition
  // Applies the precedences one after the other.
  void learn(const std::vector<Precedence>& precedences, std::uint32_t group_count);

  // Numbers of clusters in preallocations from before the trace. They are counted by the source of
  // their positions: the recorder read them from the kernel's memory; the trace uses or releases
  // them; only the counters of mb_groups show them; the position is unknown.
  std::optional<std::uint64_t> read_from_memory;  // nothing if the recorder read no memory
  std::uint64_t shown_by_trace = 0;
  std::uint64_t found_by_counters = 0;
  std::uint64_t not_found = 0;
  std::uint64_t groups_not_explained = 0;  // groups whose counters still differ from the kernel's

  [[nodiscard]] std::size_t prealloc_count() const;
  // The warm start in the form for deciders that are not models.
  [[nodiscard]] allocator::Planted planted() const;

  // Puts the warm start into the model's state, and loads every group.
  void put_into(allocator::Model& model) const;
};

// Makes a model of the policy that begins with the start image. `warm` is the state in memory, or
// null if the file system had just been mounted.
[[nodiscard]] std::unique_ptr<allocator::Model> make_model(const state::Source& source,
                                                           const allocator::Policy& policy,
                                                           const allocator::Tunables& tunables,
                                                           const WarmStart* warm);

// Deduces the warm start from the start image, the events, and the contents of mb_groups at the
// time of the image (may be empty). Uses the model of Linux 6.1. Blocks handed out of a
// preallocation are in use on disk. So the rest of a preallocation lies at the beginning or at the
// end of a run of clusters that are free on disk, unless the file was deleted (hidden_runs.h).
// `stream_req` is the recorded kernel's mb_stream_req in blocks; a file of at most this size takes
// blocks from a CPU's preallocations. `memory` has the preallocations and stream goals that the
// recorder read from the kernel's memory, or is null. If it is given, the events show nothing more.
// The Error says what in `memory` does not fit the start image.
[[nodiscard]] Result<WarmStart> deduce_warm_start(const state::Source& source,
                                                  trace::EventSource& events,
                                                  const std::vector<state::MbGroup>& groups,
                                                  std::uint64_t stream_req,
                                                  const Checkpoint* memory = nullptr);

}  // namespace e4r::replay
