// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/preallocations.h"
#include "allocator/stream_goals.h"
#include "state/freed_list.h"

namespace e4r::allocator {

// What a file system held only in memory before the first request, in a form that any decider can
// be given. All buddies are loaded.
struct Planted {
  // The preallocations of each owner are in the order of its list.
  std::vector<PlantedPrealloc> preallocs;
  std::vector<PlantedStreamGoal> streams;
  // The extents freed by the running transaction, in list order.
  std::vector<state::FreedList::Entry> freed;
  // All groups in the order in which they are on their lists, on kernels that have such lists.
  // Empty: in ascending order.
  std::vector<std::uint32_t> by_largest, by_average;
  // Groups in which bb_first_free, the kernel's record of the first free cluster, names a cluster
  // below the one that is really the first free one. Groups that do not exist are ignored.
  struct FirstFree {
    std::uint32_t group = 0;
    std::uint32_t cluster = 0;
  };
  std::vector<FirstFree> first_free;
};

}  // namespace e4r::allocator
