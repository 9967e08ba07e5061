// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/inputs.h"
#include "app/setups.h"
#include "replay/accounts.h"
#include "replay/session.h"
#include "report/replay_report.h"
#include "state/group.h"
#include "stats/free_extents.h"
#include "stats/mb_files.h"

// The kernel's own figures about the recorded run, from a given file, the capture, or a file next
// to the trace.
namespace e4r::app {

// Returns why the figures from a capture's end cannot be used: the file system was written to while
// they were read, or the capture is incomplete. Empty if they can be used, or if there is no
// capture.
[[nodiscard]] std::string doubt_about_end(const Inputs& inputs);

// Reads the kernel's mb_groups from the end of the recorded run.
[[nodiscard]] Result<std::optional<std::vector<state::MbGroup>>> read_kernel_groups(
    const Inputs& inputs);
// Reads the counts of mb_stats in the recorded run: those at the end minus those at the capture's
// start.
[[nodiscard]] Result<std::optional<std::vector<stats::MbStat>>> read_kernel_stats(
    const Inputs& inputs);

// Returns the source of mb_stats if mb_stats says that the kernel did not count; otherwise empty.
[[nodiscard]] Result<std::string> uncounted_stats(const Inputs& inputs);

// Returns the counts of mb_stats for the recorded kernel's column, or the reason why they are
// missing.
[[nodiscard]] report::KernelStats recorded_stats(const Inputs& inputs);

// Simulates many writers that make the recorded requests (contention/simulation.h).

// Parses the numbers of --writers, "1,2,4". The Error names the invalid one.
[[nodiscard]] Result<std::vector<unsigned>> parse_writers(std::string_view text);

// Parses the number of --cpus.
[[nodiscard]] Result<unsigned> parse_cpus(std::string_view text);

// Parses the pause of --think, in nanoseconds, and the factor of --think-scale.
[[nodiscard]] Result<std::uint64_t> parse_think(std::string_view text);
[[nodiscard]] Result<double> parse_think_scale(std::string_view text);

// The pauses between the requests of the recorded machine.
struct Thinking {
  // For each decision, indexed by its number in the trace (from 1): the nanoseconds since the last
  // earlier request was answered, at most a day. 0 if unknown.
  std::vector<std::uint64_t> ns;
  std::vector<bool> same_inode;  // by decision: whether the previous request was for the same inode
  std::uint64_t tick_ns = 0;     // all times are multiples of this; 0 if there are no requests
  // The number of requests made during another request, which indicates several writers.
  std::uint64_t overlapping = 0;
};
[[nodiscard]] Thinking measure_thinking(const replay::DecisionRows& recorded);
// Returns the pause before each decision at the given pace, indexed by decision number. Each pause
// varies at random by up to 50 percent.
[[nodiscard]] std::vector<std::uint64_t> pauses_of(Thinking thinking, const contention::Pace& pace);

// Replays each setup again for each number in RunSpec::writers, one replay at a time. The replay
// records the allocator's locks, and a simulation lets that many writers make its requests. Fills
// by_writers in the report's runs, which correspond to the setups.
[[nodiscard]] Status simulate_writers(replay::Session& session,
                                      std::span<const replay::Setup> setups,
                                      const replay::DecisionRows& recorded, const RunSpec& spec,
                                      const Listener& listener, report::ReplayReport& report);

// The use case of `e4replay replay`: how other policies would have served a recorded trace.

struct Comparison {
  report::ReplayReport report;
  std::vector<replay::Run> runs;  // in policy order; engines are in their final state
  replay::DecisionRows recorded;  // rows of the recorded kernel; a run keeps its own (Engine::find)
  // The history of free space under the recorded kernel, then in each run, in up to 256 steps.
  // Empty unless requested.
  std::vector<stats::SpaceHistory> spaces;
};

// Follows the recorded kernel, then replays under each policy. `inputs` must outlive the runs.
// Errors: the errors of check_fidelity(), unless spec.force is set; an invalid setting; a decision
// to explain that does not exist; a kernel that ends.
[[nodiscard]] Result<Comparison> compare(const RunSpec& spec, const Inputs& inputs,
                                         const Listener& listener);

}  // namespace e4r::app
