// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/decision.h"
#include "replay/op_stream.h"

namespace e4r::replay {

// What ended a request.
enum class ServedBy : std::uint8_t {
  nothing,        // no space
  preallocation,  // without a search
  goal,           // the place that was asked for, without a look at other groups
  search,         // of groups, in DecisionRow::criterion
};

// What searches took for one request.
struct SearchCost {
  std::uint64_t groups = 0;   // considered
  std::uint64_t extents = 0;  // examined
};

// A goal that is nowhere, or not known: block 0 may be one.
inline constexpr std::uint64_t kNoGoal = UINT64_MAX;

// One request and what it came to, for tables and timelines.
struct DecisionRow {
  std::uint64_t decision = 0;     // of the trace, from 1
  std::uint64_t time_ns = 0;      // of the recorded request, by the recorder's clock
  std::uint64_t answered_ns = 0;  // recorded kernel: of its answer; 0: not known, and of all others
  std::uint64_t ino = 0;
  std::uint64_t goal_block = kNoGoal;         // asked for: the first of its cluster
  std::uint64_t search_goal_block = kNoGoal;  // searched for
  std::uint64_t block = 0;                    // handed out; 0: none
  std::uint64_t code_ns = 0;                  // that a kernel's code took; 0: nobody measured
  std::uint64_t considered = 0;               // groups; the recorded kernel's are not known: 0
  std::uint32_t part = 1;  // of the requests that a replay needed for the recorded one, from 1
  std::uint32_t pid = 0;
  std::uint32_t logical = 0;           // first file block that is asked for
  std::uint32_t asked = 0;             // clusters
  std::uint32_t search_goal_len = 0;   // clusters; 0: nothing was searched for
  std::uint32_t len = 0;               // clusters handed out
  std::uint32_t taken = 0;             // clusters that a search took, what it preallocates included
  std::uint32_t groups_scanned = 0;    // as the closing event has them: of the recorded kernel
  std::uint32_t extents_examined = 0;  // modulo 65536
  std::uint16_t cpu = 0;
  mb::Criterion criterion = mb::Criterion::unknown;  // ServedBy::search only
  ServedBy served = ServedBy::nothing;
  bool data = false;  // of a file; else metadata
};

// What the decider made of the request of an operation.
[[nodiscard]] DecisionRow made_row(const Op& op, const allocator::Decision& made,
                                   const SearchCost& cost, const Geometry& geometry);
// What the recorded kernel made of it. The operation is closed and has been let through by Intake.
[[nodiscard]] DecisionRow recorded_row(const Op& op, const Geometry& geometry);

// The rows of one run, in the order of its requests.
class DecisionRows {
 public:
  // Numbers it; decisions come in ascending order.
  void add(std::uint64_t decision, DecisionRow row);
  [[nodiscard]] const std::vector<DecisionRow>& all() const { return rows_; }

 private:
  std::vector<DecisionRow> rows_;
};

}  // namespace e4r::replay
