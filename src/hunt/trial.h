// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/recording_decider.h"
#include "hunt/candidate.h"
#include "review/review.h"
#include "util/parallel.h"

namespace e4r::hunt {

// The figure of that key, which should become worse; "ns" is decision_ns/mean. The Error lists all
// figures.
[[nodiscard]] Result<const results::Row*> find_objective(std::string_view key);

// One candidate under both policies.
struct Trial {
  results::Outcome base, with;
  // How the kernel of each side failed: it met an error, hung or ended; empty: it did not fail.
  // After a failure there are no values.
  std::array<std::string, 2> failed;
  // Times are compared, and both decided every request alike: they differ by noise alone. The
  // score is 0.
  bool alike = false;
  double base_value = 0, with_value = 0;  // of the objective
  bool higher_is_better = false;          // of its values
  // By how many powers of two the second is worse; below 0: it is better. What a search costs
  // counts from a tenth of a step a request on, so that nothing is not infinitely better than
  // little.
  double score = 0;
  [[nodiscard]] bool has_failed() const { return !failed[0].empty() || !failed[1].empty(); }
  // How many times worse the second value is; infinite when it is nothing on one side.
  [[nodiscard]] double times() const {
    return higher_is_better ? base_value / with_value : with_value / base_value;
  }
};

// Fills in values and score of two outcomes. False: they have no such figure.
[[nodiscard]] bool measure(const results::Row& objective, Trial& trial);

// A trial's input: a start, and operations on it.
struct Scene {
  std::shared_ptr<const Start> start;
  std::vector<age::Operation> operations;
  age::Writing writing = age::Writing::delayed;
  std::vector<std::uint32_t> inodes;  // inodes of the slots that the operations use
  std::vector<std::string> settings;
};
[[nodiscard]] Scene scene_of(const Candidate& candidate, std::shared_ptr<const Start> start);

// What one policy makes of the scene; with `recorder`, its trace is put there. Errors: an invalid
// setting; the file system is full, or has too few inodes; a kernel that does not start.
[[nodiscard]] Result<results::Outcome> play(const Scene& scene, const review::Side& side,
                                            std::vector<trace::Event>* events = nullptr);

// The two policies and the objective.
struct Match {
  review::Side base, with;
  const results::Row* objective = nullptr;
  std::uint64_t least_requests = 0;         // to the allocator: cases with fewer do not count
  const std::atomic<bool>* stop = nullptr;  // true: the hunt must end; null: nothing stops it
};
// For a Stoppable around what may take long in a thread, such as ageing and trials.
[[nodiscard]] Stoppable::Asked stop_of(const Match& match);

// The scores of a case in which the kernel of the second policy failed, of which nothing can be
// worse, and of one in which only the first policy's kernel failed, which says nothing about the
// second.
inline constexpr double kWorstScore = 1e6, kNoScore = -100;

// Plays it under both. Empty: it does not count as a case, one of them ran out of space, or they do
// not have the figure. A kernel that fails is not an Error: the Trial says so, however few requests
// it made. If times are compared and the second one is worse, both are played three times in turn,
// and each side takes its median run.
[[nodiscard]] Result<std::optional<Trial>> try_scene(const Scene& scene, const Match& match);

// The tunables of a side.
[[nodiscard]] Result<allocator::Tunables> tunables_of(const Scene& scene, const review::Side& side);

}  // namespace e4r::hunt
