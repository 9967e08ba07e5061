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

// Where a run parts from the first one (replay --first-difference).
struct Parting {
  std::string_view from;       // the first one's policy
  std::uint64_t requests = 0;  // that one made
  std::uint64_t alike = 0;     // from the first on, that came to the same in both
  std::uint64_t decision = 0;  // of the trace, where they part; 0: nowhere
  std::string theirs, made;    // what the first one and this one made of it; "": no request
};

// What accounts for a figure of a run, or for most of its difference from the first run's.
struct Cause {
  enum class Figure : std::uint8_t { steps, extents };  // of searches; of files
  std::string_view name;                                // its section in docs/causes.md
  std::string_view changed_by;                          // the tunable or version that changes it
  Figure of = Figure::steps;
  std::string_view policy;  // which has more of it
  std::uint64_t count = 0;  // that one's steps or extents
  std::uint64_t other = 0;  // those of the other one
  double percent = 0;       // of the difference; of the first run: of all its steps
  std::string sentence;     // "it" is the run's policy; no-break spaces as in report::headline()
};

// Why a run's figures are as they are (replay --explain).
struct Why {
  std::string_view missing;                // why there can be no causes; empty: there can
  std::vector<Cause> causes;               // at most two, the strongest first
  std::vector<Cause::Figure> unexplained;  // figures that differ from the first run's
};

// What a file system that was aged has, and a replay has not.
struct Aged {
  std::uint64_t bytes_written = 0;
  age::AgerTally tally;
  std::uint64_t ever_used = 0;      // blocks
  std::uint64_t ever_used_64k = 0;  // pieces of 64 KiB
};

// Everything that a run came to: a replay under one policy, what the recorded kernel did, a file
// system that was aged. The figures of it are rows (results/rows.h).
struct Outcome {
  const allocator::Policy* policy = nullptr;
  allocator::Tunables tunables;
  Geometry geometry;
  replay::Tally tally;  // of a file system that was aged: the requests alone
  stats::KnownCounters searches;
  allocator::DecisionTimes times;  // of a kernel's code; empty of a model
  stats::SettledFree free;         // extents with chunks of 1 MiB
  stats::FileFragmentation files;
  stats::FileLayoutScore layout;          // of a file system that was aged: without the median
  replay::WriteOrder write_order;         // of a run that was asked for it
  replay::Contradictions contradictions;  // of the trace, as this run found them
  // Of a mount with discard; empty if unknown.
  std::optional<allocator::DiscardCounts> discards;
  std::uint64_t decisions_hash = 0;  // allocator::DecisionHash
  double ready_s = 0;                // as in replay::Run
  double elapsed_s = 0;
  [[nodiscard]] double requests_per_s() const;  // from then on when it was ready

  std::optional<Aged> aged;                              // of `age`
  std::optional<contention::SimulationOutcome> writers;  // of many writers, simulated

  // Of replay --writers: the outcomes with so many of them, by the numbers asked for.
  std::vector<Outcome> by_writers;
  std::optional<Parting> parting;      // of replay --first-difference, except for the first run
  std::optional<Why> why;              // of replay --explain and --html
  replay::CostProfile costs;           // of a run that was asked for them
  stats::SpaceHistory history;         // of replay --html
  std::vector<std::string> explained;  // of replay --html: explains costs.slowest(), in their order
  std::string explanation;  // of the decision that was asked for, or of the first divergence

  // verify only
  std::optional<replay::Agreement> agreement;
  std::optional<replay::Agreement> free_run;
  std::optional<stats::MbGroupsComparison> groups;       // against the kernel's mb_groups
  std::optional<stats::MbStatsComparison> kernel_stats;  // against its mb_stats

  // The policy was compared with no kernel's decisions.
  [[nodiscard]] bool unverified() const { return policy->compared_with().empty(); }

  // The same decisions on the same requests.
  [[nodiscard]] bool decided_as(const Outcome& other) const;

  // True when there were decisions, and every decision, group and counter equals the kernel's.
  [[nodiscard]] bool agrees() const;
};

// What a replay came to.
[[nodiscard]] Outcome outcome_of(const replay::Run& run);
[[nodiscard]] Outcome outcome_of(const replay::Engine& engine);

// The same without what only a look at all groups and files shows: free space, fragmentation and
// layout of files. Takes about as long as copying the counters.
[[nodiscard]] Outcome counts_of(const replay::Engine& engine);

// What an ager has come to by now. The caller adds the policy, the time and the bytes written,
// which the ager does not know.
[[nodiscard]] Outcome outcome_of(const age::Ager& ager, const Geometry& geometry);

// A file system at its start. It has free space alone.
[[nodiscard]] Outcome outcome_of(const state::Source& source);

// What the kernel that decided printed in mb_stats; empty: a model decided.
[[nodiscard]] std::optional<std::vector<stats::MbStat>> kernels_stats(const replay::Engine& engine);

}  // namespace e4r::results
