// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/decision.h"
#include "replay/op_stream.h"

namespace e4r::replay {

// What served a request.
enum class ServedBy : std::uint8_t {
  nothing,        // no space
  preallocation,  // no search was needed
  goal,           // the goal itself, without a look at other groups
  search,         // a search of groups; DecisionRow::criterion ended it
};

// The cost of the searches of one request.
struct SearchCost {
  std::uint64_t groups = 0;   // considered
  std::uint64_t extents = 0;  // examined
};

// No goal, or an unknown one. Block 0 can be a goal.
inline constexpr std::uint64_t kNoGoal = UINT64_MAX;

// One request and its outcome, for tables and timelines.
struct DecisionRow {
  std::uint64_t decision = 0;     // number in the trace, from 1
  std::uint64_t time_ns = 0;      // of the recorded request, by the recorder's clock
  std::uint64_t answered_ns = 0;  // recorded kernel only: time of its answer; 0: unknown
  std::uint64_t ino = 0;
  std::uint64_t goal_block = kNoGoal;         // requested goal: the first block of its cluster
  std::uint64_t search_goal_block = kNoGoal;  // goal of the search
  std::uint64_t block = 0;                    // allocated block; 0: no block
  std::uint64_t code_ns = 0;                  // time that a kernel's code took; 0: not measured
  std::uint64_t considered = 0;  // groups; 0 for the recorded kernel, which does not tell
  std::uint32_t part = 1;        // counts the requests of a replay for one recorded request, from 1
  std::uint32_t pid = 0;
  std::uint32_t logical = 0;           // first file block of the request
  std::uint32_t asked = 0;             // clusters
  std::uint32_t search_goal_len = 0;   // clusters; 0: no search
  std::uint32_t len = 0;               // clusters allocated
  std::uint32_t taken = 0;             // clusters that the search took, preallocated ones included
  std::uint32_t groups_scanned = 0;    // as the closing event has them; recorded kernel only
  std::uint32_t extents_examined = 0;  // modulo 65536
  std::uint16_t cpu = 0;
  mb::Criterion criterion = mb::Criterion::unknown;  // ServedBy::search only
  ServedBy served = ServedBy::nothing;
  bool data = false;  // for a file's data, not for metadata
};

// The decider's outcome of the request of an operation.
[[nodiscard]] DecisionRow made_row(const Op& op, const allocator::Decision& made,
                                   const SearchCost& cost, const Geometry& geometry);
// The recorded kernel's outcome. The operation is closed, and Intake has let it through.
[[nodiscard]] DecisionRow recorded_row(const Op& op, const Geometry& geometry);

// The rows of one run, in the order of its requests.
class DecisionRows {
 public:
  // Adds and numbers a row. Decisions come in ascending order.
  void add(std::uint64_t decision, DecisionRow row);
  [[nodiscard]] const std::vector<DecisionRow>& all() const { return rows_; }

 private:
  std::vector<DecisionRow> rows_;
};

}  // namespace e4r::replay
