// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/decision_rows.h"

namespace e4r::replay {
namespace {

// The columns of a request that the trace alone gives.
DecisionRow asked_row(const Op& op) {
  DecisionRow out;
  out.time_ns = op.time_ns;
  out.ino = op.ino;
  out.pid = op.pid;
  out.cpu = op.cpu;
  out.data = is_data(op);
  return out;
}

// The first block of a goal.
std::uint64_t goal_of(const Geometry& geometry, std::uint32_t group, std::int64_t start) {
  if (!geometry.holds(group, start, 1)) return kNoGoal;
  return geometry.block_of(group, static_cast<std::uint32_t>(start));
}

// `scanned`: groups scanned, by the closing event. A search that took its goal scanned no group.
ServedBy served_by(bool prealloc, bool success, std::uint32_t scanned) {
  if (!success) return ServedBy::nothing;
  if (prealloc) return ServedBy::preallocation;
  return scanned == 0 ? ServedBy::goal : ServedBy::search;
}

}  // namespace

DecisionRow made_row(const Op& op, const allocator::Decision& made, const SearchCost& cost,
                     const Geometry& geometry) {
  DecisionRow out = asked_row(op);
  out.goal_block = goal_of(geometry, made.orig.group, made.orig.start);
  out.logical = made.orig.logical;
  out.asked = made.orig.len;
  out.code_ns = made.ns;
  out.served = served_by(made.prealloc, made.success, made.groups_scanned);
  if (made.success) {
    out.block = made.block;
    out.len = made.len;
  }
  if (made.prealloc) return out;
  out.search_goal_block = goal_of(geometry, made.goal.group, made.goal.start);
  out.search_goal_len = made.goal_len != 0 ? made.goal_len : made.goal.len;
  out.taken = made.result.len;
  out.considered = cost.groups;
  out.groups_scanned = made.groups_scanned;
  out.extents_examined = made.found;
  if (out.served == ServedBy::search) out.criterion = made.criterion;
  return out;
}

DecisionRow recorded_row(const Op& op, const Geometry& geometry) {
  const Closing& closing = op.closing;
  DecisionRow out = asked_row(op);
  if (op.answered_ns >= op.time_ns) out.answered_ns = op.answered_ns;
  out.goal_block = goal_of(geometry, closing.orig.group, closing.orig.start);
  out.logical = closing.orig.logical;
  out.asked = closing.orig.len;
  out.served = served_by(closing.prealloc, op.block != 0, closing.groups);
  out.block = op.block;
  out.len = op.len;
  if (closing.prealloc) return out;
  out.search_goal_block = goal_of(geometry, closing.goal.group, closing.goal.start);
  out.search_goal_len = closing.orig_goal_len != 0 ? closing.orig_goal_len : closing.goal.len;
  out.taken = closing.result.len;
  out.groups_scanned = closing.groups;
  out.extents_examined = closing.found;
  if (out.served == ServedBy::search) out.criterion = closing.criterion;
  return out;
}

void DecisionRows::add(std::uint64_t decision, DecisionRow row) {
  row.decision = decision;
  row.part = rows_.empty() || rows_.back().decision != decision ? 1 : rows_.back().part + 1;
  rows_.push_back(row);
}

}  // namespace e4r::replay
