// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/allocator.h"
#include "replay/course.h"
#include "replay/op_stream.h"

namespace e4r::replay {

// One decision that came out differently from the recorded one.
struct Divergence {
  std::uint64_t decision = 0;  // number among the closed decisions, from 1
  std::uint64_t event = 0;     // number of the event in the trace, from 1
  std::uint64_t time_ns = 0;
  std::uint32_t pid = 0;
  std::uint64_t ino = 0;
  Race race = Race::none;  // what another thread did meanwhile, or when the stream goal that it
                           // starts from was left
  std::string fields;      // names of what differs, comma-separated
  std::string recorded;    // the closing event, in the trace's own form
  std::string modelled;    // the model's decision in the same form
};

// How far a replay decided like the recorded kernel, counted over the decisions that the trace
// closed (ext4_mballoc_alloc and ext4_mballoc_prealloc). What counts is what the model chose
// itself, before a recorded result is put in its place.
struct Agreement {
  std::uint64_t requests = 0;
  std::uint64_t same_block = 0;
  std::uint64_t same_length = 0;
  std::uint64_t same_criterion = 0;
  std::uint64_t same_found = 0;
  std::uint64_t same_groups_scanned = 0;
  std::uint64_t identical = 0;  // kind, goal, result, found, groups, criterion, flags, tail, broken
  std::uint64_t nameless = 0;   // not identical, but only by a criterion that is none we know
  std::uint64_t skips = 0;      // of the identical: by passing over a group whose lock was held
  std::uint64_t late = 0;       // of the identical: by deciding where the answer stands (Op::late)
  std::uint64_t races = 0;      // not identical, but in a race: see Divergence
  std::uint64_t forced = 0;     // decisions replaced by the recorded one (resync)
  std::uint64_t conflicts = 0;  // clusters of forced results that the model had in use
  std::vector<Divergence> divergences;  // the first kListed of them
  // Decisions in the course of the trace.
  struct Share {
    std::uint64_t requests = 0;
    std::uint64_t identical = 0;
    void join(const Share& other) {
      requests += other.requests;
      identical += other.identical;
    }
  };
  Course<Share> course;
  std::uint64_t last_divergence = 0;  // the number of the last one's decision; 0: none

  // Share of all decisions in percent; none when there were no decisions.
  [[nodiscard]] std::optional<double> percent(std::uint64_t of) const {
    if (requests == 0) return std::nullopt;
    return 100.0 * static_cast<double>(of) / static_cast<double>(requests);
  }
  [[nodiscard]] std::optional<double> percent_identical() const { return percent(identical); }
  // Whether there were decisions and all of them are identical.
  [[nodiscard]] bool complete() const { return requests > 0 && identical == requests; }
  // Below this share the model does not follow the recorded kernel, so that what it says of another
  // policy on the same trace means nothing.
  static constexpr double kFollows = 90.0;
  [[nodiscard]] bool follows() const {
    return percent(identical + nameless).value_or(0) >= kFollows;
  }
  static constexpr std::size_t kListed = 1000;
  [[nodiscard]] const Divergence* first_divergence() const {
    return divergences.empty() ? nullptr : &divergences.front();
  }
  // Compares one decision of the model's own with its closing event, and counts. Whether it is
  // identical.
  bool count(const Op& op, const allocator::Decision& decision, bool was_forced);
  // Counts a recorded decision that the replay did not come to take: the range was there already.
  void count_not_taken(const Op& op);

 private:
  void diverge(const Op& op, Race race, std::string fields, std::string modelled);

  // The last search by the stream goal overlapped another thread's work, so where it left that
  // goal, before or after the other one, does not show in the trace.
  bool stream_goal_in_doubt_ = false;
};

// A decision, and a closing event, in the form of the trace: "alloc orig 16/0/1@0 goal ...".
[[nodiscard]] std::string describe(const allocator::Decision& decision);
[[nodiscard]] std::string describe(const Closing& closing);

}  // namespace e4r::replay
