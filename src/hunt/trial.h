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
#include "util/output.h"
#include "util/parallel.h"

namespace e4r::hunt {

// Finds the row with that key. The hunt looks for cases in which the second policy has a worse
// value of its figure. "ns" stands for decision_ns/mean. The Error lists all figures.
[[nodiscard]] Result<const results::Row*> find_objective(std::string_view key);

// One candidate under both policies.
struct Trial {
  results::Outcome base, with;
  // How the kernel of each side failed (an error, a hang or its end); empty if it did not fail.
  // After a failure there are no values.
  std::array<std::string, 2> failed;
  // Set if times are compared and both policies decided every request in the same way. The times
  // then differ only by noise, and the score is 0.
  bool alike = false;
  double base_value = 0, with_value = 0;  // values of the objective
  bool higher_is_better = false;          // whether higher values are better
  // The binary logarithm of the factor by which the second value is worse; negative if it is
  // better. A tenth of a step per request is added to the cost of searches, so that a cost of 0 is
  // not infinitely better than a small one.
  double score = 0;
  [[nodiscard]] bool has_failed() const { return !failed[0].empty() || !failed[1].empty(); }
  // The factor by which the second value is worse; infinite if the smaller value is 0.
  [[nodiscard]] double times() const {
    return higher_is_better ? base_value / with_value : with_value / base_value;
  }
};

// Fills in the values and the score of two outcomes. Returns false if they lack the figure.
[[nodiscard]] bool measure(const results::Row& objective, Trial& trial);

// The input of a trial: a start, and operations on it.
struct Scene {
  std::shared_ptr<const Start> start;
  std::vector<age::Operation> operations;
  age::Writing writing = age::Writing::delayed;
  std::vector<std::uint32_t> inodes;  // inodes of the slots that the operations use
  std::vector<std::string> settings;
};
[[nodiscard]] Scene scene_of(const Candidate& candidate, std::shared_ptr<const Start> start);

// Plays the scene under one policy. If `events` is not null, stores the trace there. Errors: an
// invalid setting; the file system is full or has too few inodes; a kernel that does not start.
[[nodiscard]] Result<results::Outcome> play(const Scene& scene, const review::Side& side,
                                            std::vector<trace::Event>* events = nullptr);

// The two policies and the objective.
struct Match {
  review::Side base, with;
  const results::Row* objective = nullptr;
  std::uint64_t least_requests = 0;  // allocation requests; cases with fewer requests do not count
  const std::atomic<bool>* stop = nullptr;  // true if the hunt must end; may be null
};
// Returns the function that asks whether to stop, for a Stoppable around long work such as ageing
// and trials.
[[nodiscard]] Stoppable::Asked stop_of(const Match& match);

// kWorstScore is the score if the second policy's kernel failed, since nothing can be worse.
// kNoScore is the score if only the first policy's kernel failed, since that says nothing about the
// second.
inline constexpr double kWorstScore = 1e6, kNoScore = -100;

// Plays the scene under both policies. Returns nullopt if it does not count as a case, if one
// policy ran out of space, or if the figure is missing. A kernel that fails is not an Error: the
// Trial reports it, even after a few requests. If times are compared and the second is worse, both
// are played three times in turn, and the median run of each counts.
[[nodiscard]] Result<std::optional<Trial>> try_scene(const Scene& scene, const Match& match);

// The tunables of a side.
[[nodiscard]] Result<allocator::Tunables> tunables_of(const Scene& scene, const review::Side& side);

// The program and the command that made a capture.
struct Maker {
  std::string program;  // name and version
  std::string command;
};

// Plays the scene under the policy of `side`, and writes its start image and its trace as a
// capture. Returns the number of events.
[[nodiscard]] Result<std::uint64_t> write_case(const Scene& scene, const review::Side& side,
                                               const Maker& maker, const OutputName& output);

}  // namespace e4r::hunt
