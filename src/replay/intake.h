// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ext4/geometry.h"
#include "replay/op_stream.h"

namespace e4r::replay {

// Statements of a trace that cannot be true. They are counted and not applied.
struct Contradictions {
  std::uint64_t outside = 0;       // ranges, groups or blocks outside the image
  std::uint64_t inodes = 0;        // operations on inode 0
  std::uint64_t answers = 0;       // blocks handed out that are not part of the result
  std::uint64_t in_use = 0;        // clusters handed out while in use
  std::uint64_t not_in_use = 0;    // frees of free, preallocated or metadata blocks
  std::uint64_t transactions = 0;  // commits that begin or end out of turn
  std::uint64_t strays = 0;        // closing events and answers without a request
  std::uint64_t first_event = 0;   // number of the first of these events; 0: no such event

  void note(std::uint64_t Contradictions::*what, std::uint64_t event, std::uint64_t count = 1);
  void add(const Contradictions& others);
  [[nodiscard]] bool any() const { return first_event != 0; }
};

struct ContradictionInfo {
  std::string_view key;
  std::uint64_t Contradictions::*member;
  std::string_view meaning;  // what is counted
};
[[nodiscard]] std::span<const ContradictionInfo> contradiction_table();

// For example "operations on inode 0: 1, frees of what is not in use: 2 (the first at event 17)".
[[nodiscard]] std::string describe(const Contradictions& contradictions);

// Every operation passes here on its way from a trace to the state. An admitted operation names
// groups, clusters and blocks that exist. The result of an allocation lies inside its group, and
// the answer inside the result.
class Intake {
 public:
  // Both must outlive the object.
  Intake(const Geometry& geometry, Contradictions& contradictions)
      : geometry_(geometry), found_(contradictions) {}

  // Whether the operation may be applied; counts it if not. An answer that contradicts its closing
  // event is removed from the operation.
  [[nodiscard]] bool admit(Op& op);

 private:
  bool allocation(Op& op);
  void answer(Op& op);
  bool refuse(std::uint64_t Contradictions::*what, const Op& op);
  bool flushing(const Op& op);
  bool end_commit(const Op& op);

  const Geometry& geometry_;
  Contradictions& found_;
  std::uint64_t transaction_ = 0;  // the last one seen to flush or to end
  bool committing_ = false;        // that transaction has not ended
  bool seen_ = false;
};

}  // namespace e4r::replay
