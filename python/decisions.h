// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <pybind11/pybind11.h>

#include <e4replay/replay.h>
#include <cstdint>
#include <memory>
#include <vector>

namespace e4replay::python {

// A flat copy of a decision: each member is a column of an array.
struct DecisionRow {
  std::uint64_t number = 0, event = 0, ino = 0, block = 0;
  std::uint32_t logical = 0, asked = 0, len = 0, group = 0, start = 0, taken = 0;
  std::uint32_t goal_group = 0, goal_len = 0;
  std::int32_t goal_start = 0;  // -1 means anywhere in the group
  std::uint32_t extents_examined = 0, groups_scanned = 0, flags = 0;
  std::uint8_t criterion = 0;
  bool success = false, preallocated = false;
};
[[nodiscard]] DecisionRow row_of(const Decision& decision);
[[nodiscard]] DecisionRow row_of(const ReplayedDecision& decision);

// All decisions of a replay, in order.
struct Decisions {
  std::shared_ptr<const std::vector<DecisionRow>> rows;
  Report report;
};

void define_decisions(pybind11::module_& module);

}  // namespace e4replay::python
