// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/closing_counts.h"

#include <algorithm>

namespace e4r::replay {
namespace {

// Whether the allocated blocks begin at the goal. A preallocation is tried before the request is
// normalised, so its goal is the request itself.
bool at_goal(const Op& op, const Geometry& geometry) {
  if (op.block == 0) return false;
  const trace::RecordedExtent& goal = op.closing.prealloc ? op.closing.orig : op.closing.goal;
  return geometry.lies_at(op.block, goal.group, static_cast<std::uint32_t>(goal.start));
}

}  // namespace

void ClosingCounts::count(const Op& op, const Geometry& geometry) {
  const Closing& c = op.closing;
  ++requests;
  hash.add(op.block, op.len);
  allocated += op.len;
  failed += op.block == 0 ? 1 : 0;
  success += op.len >= c.orig.len ? 1 : 0;
  goal_hits += at_goal(op, geometry) ? 1 : 0;
  if (c.prealloc) return;
  extents_scanned += c.found;
  groups_scanned += c.groups;
  if (c.result.len == 0) return;
  goals_hidden += mb::row_of(c.criterion).trims && c.orig_goal_len == 0 ? 1 : 0;
  len_goal_hits += c.result.len == std::max(c.orig_goal_len, c.goal.len) ? 1 : 0;
  if (c.groups == 0) return;
  if (c.criterion == mb::Criterion::unknown)
    ++nameless;
  else
    ++hits[static_cast<std::size_t>(c.criterion)];
}

}  // namespace e4r::replay
