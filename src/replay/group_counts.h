// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "ext4/geometry.h"
#include "state/buddy.h"
#include "state/group.h"

namespace e4r::replay {

// A group's counters as in mb_groups, or their changes: runs of free clusters, free clusters,
// chunks by order.
struct GroupCounts {
  std::int64_t fragments = 0;
  std::int64_t free = 0;
  std::array<std::int32_t, state::MbGroup::kOrders> chunks = {};

  friend bool operator==(const GroupCounts&, const GroupCounts&) = default;
  GroupCounts& operator+=(const GroupCounts& o) {
    fragments += o.fragments;
    free += o.free;
    for (std::size_t i = 0; i < chunks.size(); ++i) chunks[i] += o.chunks[i];
    return *this;
  }
  GroupCounts operator-(const GroupCounts& o) const {
    GroupCounts out = *this;
    out.fragments -= o.fragments;
    out.free -= o.free;
    for (std::size_t i = 0; i < chunks.size(); ++i) out.chunks[i] -= o.chunks[i];
    return out;
  }
};

// The counters that a line of mb_groups shows.
[[nodiscard]] inline GroupCounts counts_of(const state::MbGroup& shown) {
  GroupCounts out;
  out.fragments = shown.fragments;
  out.free = shown.free;
  for (std::size_t i = 0; i < out.chunks.size(); ++i)
    out.chunks[i] = static_cast<std::int32_t>(shown.counters[i]);
  return out;
}

// The counters of one run of free clusters.
[[nodiscard]] inline GroupCounts counts_of(const Geometry& geometry, const ClusterRange& run) {
  GroupCounts out;
  if (run.count == 0) return out;
  out.fragments = 1;
  out.free = run.count;
  state::OrderCounters chunks = {};
  state::count_chunks(chunks, geometry.orders(), run.first, run.count, 1);
  for (std::size_t i = 0; i < std::min(out.chunks.size(), chunks.size()); ++i)
    out.chunks[i] = static_cast<std::int32_t>(chunks[i]);
  return out;
}

// The counters of a group's bitmap.
[[nodiscard]] inline GroupCounts counts_of(const Geometry& geometry,
                                           state::bitmap::ConstWords words) {
  GroupCounts out;
  state::bitmap::for_each_clear_run(words, geometry.clusters_per_group,
                                    [&](std::uint32_t start, std::uint32_t end) {
                                      out += counts_of(geometry, {start, end - start});
                                    });
  return out;
}

}  // namespace e4r::replay
