// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ext4/geometry.h"
#include "replay/op_stream.h"

namespace e4r::replay {

// What a trace says that cannot be so: counted, and not done.
struct Contradictions {
  std::uint64_t outside = 0;       // ranges, groups or blocks that the image does not have
  std::uint64_t inodes = 0;        // operations on inode 0
  std::uint64_t answers = 0;       // blocks handed out that are no part of the result
  std::uint64_t in_use = 0;        // clusters handed out that were in use
  std::uint64_t not_in_use = 0;    // frees of what is free, preallocated or metadata
  std::uint64_t transactions = 0;  // commits that begin or end out of turn
  std::uint64_t strays = 0;        // closing events and answers that belong to no request
  std::uint64_t first_event = 0;   // number of the first of these events; 0: none

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

// "operations on inode 0: 1, frees of what is not in use: 2 (the first at event 17)".
[[nodiscard]] std::string describe(const Contradictions& contradictions);

// The one door between a trace and the state: every operation passes it before anything is done
// with it. What comes through names groups, clusters and blocks that exist; a result of an
// allocation lies inside its group, and its answer inside the result.
class Intake {
 public:
  // Both must outlive the object.
  Intake(const Geometry& geometry, Contradictions& contradictions)
      : geometry_(geometry), found_(contradictions) {}

  // Whether the operation may be done; counts it when not. An answer that contradicts its closing
  // event is taken out of the operation.
  [[nodiscard]] bool admit(Op& op);

 private:
  bool allocation(Op& op);
  void answer(Op& op);
  bool refuse(std::uint64_t Contradictions::*what, const Op& op);
  bool flushing(const Op& op);
  bool end_commit(const Op& op);

  const Geometry& geometry_;
  Contradictions& found_;
  std::uint64_t transaction_ = 0;  // that was last seen to flush, or to end
  bool committing_ = false;        // it has not ended
  bool seen_ = false;
};

}  // namespace e4r::replay
