// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shrinker/status_cache.h"
#include "trace/event.h"
#include "util/status.h"

namespace e4r::shrinker {

// Counts all comparisons, and the ones without a difference.
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

// The agreement of a model with the recorded kernel. A difference is corrected before the replay
// continues, so that it causes no further differences.
struct CacheAgreement {
  Compared lookups;          // found or not, and the whole entry
  Compared scans;            // entries reclaimed in a call, and entries visited if recorded
  Compared reclaimable;      // reclaimable entries before and after a call
  std::uint64_t unseen = 0;  // found entries from before the trace; not part of `lookups`
  std::string first;         // the first difference; empty if nothing differs
  // Whether all comparisons agreed and there was at least one call.
  [[nodiscard]] bool agrees() const {
    return scans.all > 0 && scans.same == scans.all && lookups.same == lookups.all &&
           reclaimable.same == reclaimable.all;
  }
};

// The outcome of a model on a trace.
struct ReclaimOutcome {
  const ReclaimModel* model = nullptr;
  std::uint64_t calls = 0, visited = 0, reclaimed = 0;
  std::uint64_t empty_calls = 0;   // calls that reclaimed nothing although entries were reclaimable
  std::uint64_t most_visited = 0;  // maximum of one call
  std::uint64_t lookups = 0, hits = 0;
  std::uint64_t lost_hits = 0;  // lookups that failed because the entry had been reclaimed
  std::uint64_t most_entries = 0, most_reclaimable = 0;  // maxima over time
  std::uint64_t entries = 0, reclaimable = 0;            // at the end
};

struct Replay {
  CacheAgreement agreement;
  ReclaimOutcome followed;
  std::uint64_t events = 0;                       // number of extent status events
  std::uint64_t contradictions = 0;               // impossible ranges, and answers without a lookup
  std::uint64_t recorded_us = 0, longest_us = 0;  // recorded time in the shrinker
  std::uint64_t inodes_skipped = 0;               // locked or precached, as recorded
};

// Follows the trace with the model of the kernel that recorded it. The Error comes from reading, or
// names the kinds of events that the trace lacks.
[[nodiscard]] Result<Replay> follow(trace::EventSource& events, const ReclaimModel& recorded);

// Replays the trace under another model, with the recorded calls and their budgets. If a lookup
// finds nothing in the model although the kernel found an entry, the recorded entry is inserted, as
// the kernel does when it reads the file's extents again.
[[nodiscard]] Result<ReclaimOutcome> what_if(trace::EventSource& events, const ReclaimModel& model);

}  // namespace e4r::shrinker
