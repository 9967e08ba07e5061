// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "age/ager.h"
#include "allocator/decision.h"
#include "allocator/discards.h"
#include "allocator/policy.h"
#include "contention/simulation.h"
#include "ext4/geometry.h"
#include "replay/accounts.h"
#include "replay/agreement.h"
#include "replay/intake.h"
#include "replay/session.h"
#include "stats/free_extents.h"
#include "stats/layout.h"
#include "stats/mb_files.h"

namespace e4r::results {

// Where a run diverges from the first one (replay --first-difference).
struct Parting {
  std::string_view from;       // the policy of the first run
  std::uint64_t requests = 0;  // number of requests in the first run
  std::uint64_t alike = 0;     // leading requests that had the same result in both runs
  std::uint64_t decision = 0;  // the first different decision, by its number in the trace; 0 if
                               // no decision differs
  std::string theirs, made;    // the result in the first run and in this one; "" if the run lacks
                               // that request
};

// A cause of a run's figure, or of most of the difference between this figure and the first run's.
struct Cause {
  enum class Figure : std::uint8_t { steps, extents };  // steps of searches; extents of files
  std::string_view name;                                // its section in docs/causes.md
  std::string_view changed_by;                          // the tunable or kernel version that
                                                        // changes it
  Figure of = Figure::steps;
  std::string_view policy;  // the policy under which the figure is higher
  std::uint64_t count = 0;  // steps or extents under that policy
  std::uint64_t other = 0;  // steps or extents under the other policy
  double percent = 0;       // share of the difference; for the first run, share of all its steps
  std::string sentence;     // "it" is the run's policy; no-break spaces as in report::headline()
};

// Explains a run's figures (replay --explain).
struct Why {
  std::string_view missing;                // why no causes can be given; empty if they can
  std::vector<Cause> causes;               // at most two, the strongest first
  std::vector<Cause::Figure> unexplained;  // figures that differ from the first run's
};

// Figures that an aged file system has but a replay does not.
struct Aged {
  std::uint64_t bytes_written = 0;
  age::AgerTally tally;
  std::uint64_t ever_used = 0;      // blocks
  std::uint64_t ever_used_64k = 0;  // pieces of 64 KiB
};

// The outcome of a run: a replay under one policy, the recorded kernel's decisions, or an aged file
// system. Its figures are rows (results/rows.h).
struct Outcome {
  const allocator::Policy* policy = nullptr;
  allocator::Tunables tunables;
  Geometry geometry;
  replay::Tally tally;  // for an aged file system: requests only
  stats::KnownCounters searches;
  allocator::DecisionTimes times;  // only for a kernel's code; empty for a model
  stats::SettledFree free;         // the extents include chunks of 1 MiB
  stats::FileFragmentation files;
  stats::FileLayoutScore layout;          // for an aged file system: without the median
  replay::WriteOrder write_order;         // only if asked for
  replay::Contradictions contradictions;  // contradictions in the trace that this run found
  // Only for a mount with discard; empty if unknown.
  std::optional<allocator::DiscardCounts> discards;
  std::uint64_t decisions_hash = 0;  // allocator::DecisionHash
  double ready_s = 0;                // as in replay::Run
  double elapsed_s = 0;
  [[nodiscard]] double requests_per_s() const;  // counted from when the run was ready

  std::optional<Aged> aged;                              // only for `age`
  std::optional<contention::SimulationOutcome> writers;  // only for a simulation of many writers

  // Only for replay --writers: one outcome for each number of writers, in the order given.
  std::vector<Outcome> by_writers;
  std::optional<Parting> parting;      // only for replay --first-difference, except for the first
                                       // run
  std::optional<Why> why;              // only for replay --explain and --html
  replay::CostProfile costs;           // only if asked for
  stats::SpaceHistory history;         // only for replay --html
  std::vector<std::string> explained;  // only for replay --html: explains costs.slowest(), in the
                                       // same order
  std::string explanation;  // explains the decision that was asked for, or the first divergence

  // for verify only
  std::optional<replay::Agreement> agreement;
  std::optional<replay::Agreement> free_run;
  std::optional<stats::MbGroupsComparison> groups;       // compared with the kernel's mb_groups
  std::optional<stats::MbStatsComparison> kernel_stats;  // compared with the kernel's mb_stats

  // True if the policy was never compared with a kernel's decisions.
  [[nodiscard]] bool unverified() const { return policy->compared_with().empty(); }

  // True if both runs made the same decisions on the same requests.
  [[nodiscard]] bool decided_as(const Outcome& other) const;

  // True if there were decisions and every decision, group and counter equals the kernel's.
  [[nodiscard]] bool agrees() const;
};

// The outcome of a replay.
[[nodiscard]] Outcome outcome_of(const replay::Run& run);
[[nodiscard]] Outcome outcome_of(const replay::Engine& engine);

// Like outcome_of(), but without the figures that need a pass over all groups and files: free
// space, fragmentation and layout of files. Takes about as long as copying the counters.
[[nodiscard]] Outcome counts_of(const replay::Engine& engine);

// The outcome of an ager so far. The caller adds what the ager does not know: the policy, the time
// and the bytes written.
[[nodiscard]] Outcome outcome_of(const age::Ager& ager, const Geometry& geometry);

// The outcome of a file system at its start. It has only figures of free space.
[[nodiscard]] Outcome outcome_of(const state::Source& source);

// The mb_stats of the kernel that made the decisions; empty if a model made them.
[[nodiscard]] std::optional<std::vector<stats::MbStat>> kernels_stats(const replay::Engine& engine);

}  // namespace e4r::results
