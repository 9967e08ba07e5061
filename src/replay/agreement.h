// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/allocator.h"
#include "replay/accounts.h"
#include "replay/op_stream.h"

namespace e4r::replay {

// One decision that differs from the recorded one.
struct Divergence {
  std::uint64_t decision = 0;  // number among the closed decisions, from 1
  std::uint64_t event = 0;     // number of the event in the trace, from 1
  std::uint64_t time_ns = 0;
  std::uint32_t pid = 0;
  std::uint64_t ino = 0;
  Race race = Race::none;   // interference by another thread, directly or through the stream goal
  std::string fields;       // names of the differing fields, comma-separated
  std::string recorded;     // the closing event as the trace prints it
  std::string modelled;     // the model's decision in the same form
  std::uint32_t group = 0;  // group of the recorded result
};

// Counts how many of the model's decisions equal the recorded kernel's. Only decisions with a
// closing event count (ext4_mballoc_alloc or ext4_mballoc_prealloc). The comparison uses the choice
// that the model made before a recorded result replaced it.
struct Agreement {
  std::uint64_t requests = 0;
  std::uint64_t same_block = 0;
  std::uint64_t same_length = 0;
  std::uint64_t same_criterion = 0;
  std::uint64_t same_found = 0;
  std::uint64_t same_groups_scanned = 0;
  std::uint64_t identical = 0;  // kind, goal, result, found, groups, criterion, flags, tail, broken
  std::uint64_t nameless = 0;   // differ only in a criterion whose name is unknown to this program
  std::uint64_t skips = 0;      // identical decisions that passed over a group whose lock was held
  std::uint64_t late = 0;       // identical decisions that a Schedule moved (Op::scheduled)
  std::uint64_t earlier =
      0;  // identical decisions whose search saw earlier states (Op::sees_earlier)
  std::uint64_t races = 0;      // differ, but overlap another thread's work (Divergence::race)
  std::uint64_t forced = 0;     // decisions replaced by the recorded one (resync)
  std::uint64_t conflicts = 0;  // clusters of forced results that were in use in the model
  std::vector<Divergence> divergences;  // the first ones, at most kListed
  // The decisions of one bucket.
  struct Share {
    std::uint64_t requests = 0;
    std::uint64_t identical = 0;
    void join(const Share& other) {
      requests += other.requests;
      identical += other.identical;
    }
  };
  Course<Share> course;
  std::uint64_t last_divergence = 0;  // number of the last divergent decision; 0: no divergence

  // Returns `of` as a percentage of all decisions; nullopt if there were no decisions.
  [[nodiscard]] std::optional<double> percent(std::uint64_t of) const {
    if (requests == 0) return std::nullopt;
    return 100.0 * static_cast<double>(of) / static_cast<double>(requests);
  }
  [[nodiscard]] std::optional<double> percent_identical() const { return percent(identical); }
  // Whether at least `share` percent of the decisions are identical. A decision that differs only
  // in a criterion of unknown name counts as identical here.
  [[nodiscard]] bool reaches(double share) const {
    return percent(identical + nameless).value_or(0) >= share;
  }
  [[nodiscard]] std::uint64_t differing() const { return requests - identical; }
  // Whether there were decisions and all of them are identical.
  [[nodiscard]] bool complete() const { return requests > 0 && identical == requests; }
  // Below this percentage, the model does not follow the recorded kernel, and its results for other
  // policies on the same trace are meaningless.
  static constexpr double kFollows = 90.0;
  [[nodiscard]] bool follows() const { return reaches(kFollows); }
  // Below this percentage, the policy is probably not the policy of the recorded kernel.
  static constexpr double kTrusted = 99.0;
  // Whether the agreement would reach kTrusted if decisions that overlap another thread's work
  // counted as identical.
  [[nodiscard]] bool differs_by_races() const {
    return percent(identical + nameless + races).value_or(0) >= kTrusted;
  }
  // Whether the policy counts as the recorded kernel's own; nullopt if that is unknown.
  [[nodiscard]] std::optional<bool> is_kernels_own() const {
    if (requests == 0) return std::nullopt;
    return differs_by_races();
  }
  // If the best agreement so far is below this percentage, no further policies are tried. Policies
  // with similar rules would not follow the kernel either.
  static constexpr double kNear = 50.0;
  // From this percentage on, only policies of the kernel's own release are tried.
  static constexpr double kSuffices = 99.9;
  static constexpr std::size_t kListed = 1000;
  [[nodiscard]] const Divergence* first_divergence() const {
    return divergences.empty() ? nullptr : &divergences.front();
  }
  // Compares one decision of the model with its closing event and counts it. Returns whether they
  // are identical.
  bool count(const Op& op, const allocator::Decision& decision, bool was_forced);
  // Counts a recorded decision that the replay skipped because it had already allocated the range.
  void count_not_taken(const Op& op);

 private:
  void diverge(const Op& op, Race race, std::string fields, std::string modelled);

  // Whether the last search from the stream goal overlapped another thread's search. The trace does
  // not show which of the two set the goal last.
  bool stream_goal_in_doubt_ = false;
};

// Formats a decision, or a closing event, as the trace does: "alloc orig 16/0/1@0 goal ...".
[[nodiscard]] std::string describe(const allocator::Decision& decision);
[[nodiscard]] std::string describe(const Closing& closing);

}  // namespace e4r::replay
