// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shrinker/reclaim.h"
#include "trace/source.h"
#include "util/status.h"

namespace e4r::shrinker {

// A count of comparisons, and how many came out the same.
struct Compared {
  std::uint64_t all = 0;
  std::uint64_t same = 0;
  void add(bool equal) {
    ++all;
    same += equal ? 1 : 0;
  }
  [[nodiscard]] std::optional<double> percent() const {
    if (all == 0) return std::nullopt;
    return 100.0 * static_cast<double>(same) / static_cast<double>(all);
  }
};

// How far a model of what the kernel did agrees with what it did. What differs is put right before
// the replay goes on, so that one difference does not make the next.
struct Agreement {
  Compared lookups;          // found or not, and the whole entry
  Compared scans;            // entries reclaimed in a call, and visited where the trace says it
  Compared reclaimable;      // reclaimable entries before and after a call
  std::uint64_t unseen = 0;  // found, but recorded before the trace began: not among the lookups
  std::string first;         // the first difference; empty when there is none
  // Everything that could be compared came out the same, and there were calls.
  [[nodiscard]] bool agrees() const {
    return scans.all > 0 && scans.same == scans.all && lookups.same == lookups.all &&
           reclaimable.same == reclaimable.all;
  }
};

// What a model makes of a trace.
struct Outcome {
  const Model* model = nullptr;
  std::uint64_t calls = 0, visited = 0, reclaimed = 0;
  std::uint64_t empty_calls = 0;   // that reclaimed nothing although something could be
  std::uint64_t most_visited = 0;  // in one call
  std::uint64_t lookups = 0, hits = 0;
  std::uint64_t lost_hits = 0;  // lookups that found nothing because the entry had been reclaimed
  std::uint64_t most_entries = 0, most_reclaimable = 0;  // at a time
  std::uint64_t entries = 0, reclaimable = 0;            // at the end
};

struct Replay {
  Agreement agreement;
  Outcome followed;
  std::uint64_t events = 0;  // of extent status trees
  std::uint64_t contradictions =
      0;  // ranges that no file has, answers without a question: left out
  std::uint64_t recorded_us = 0, longest_us = 0;  // in the shrinker, as recorded
  std::uint64_t inodes_skipped = 0;               // by the recorded shrinker: locked or precached
};

// Follows the trace with the model of the kernel that recorded it. Errors: those of reading; a
// trace without what is needed, named.
[[nodiscard]] Result<Replay> follow(trace::EventSource& events, const Model& recorded);

// Replays the trace under another model. Calls come when they came and with the budget that they
// had; a lookup that was answered and finds nothing puts the recorded answer back, as the kernel
// would by reading the file's extents again.
[[nodiscard]] Result<Outcome> what_if(trace::EventSource& events, const Model& model);

}  // namespace e4r::shrinker
