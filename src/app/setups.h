// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/decider.h"
#include "app/inputs.h"
#include "contention/simulation.h"
#include "replay/session.h"
#include "report/replay_report.h"
#include "util/output.h"
#include "util/status.h"

// What to run on a recording, and the deciders that run it, by the names that commands accept.
namespace e4r::app {

// Describes what to run on a recording and what to report. It is made once, from a command line or
// a library call, and passed on unchanged. InputOptions select the recording.
struct RunSpec {
  // If empty, the recorded kernel's policy is used, and compare() adds its neighbours. verify()
  // accepts at most one.
  std::vector<const allocator::Policy*> policies;
  std::vector<std::string> settings;  // tunables of the replays, each as NAME=VALUE
  unsigned threads = 0;               // policies replayed at once; 0: one per CPU
  bool check = false;                 // verify the state's invariants during the run
  std::uint64_t explain = 0;          // the decision to explain; 0: do not explain

  // For compare():
  bool force = false;             // report even if the model does not follow the recorded kernel
  bool causes = false;            // explain why policies are better or worse; a page always does
  bool first_difference = false;  // find where each policy first differs from the first one
  bool for_page = false;          // record free space and costs, and explain the slowest decisions
  bool rows = false;              // keep a row for each request
  bool spaces = false;            // record free space over the course of the runs for a timeline
  std::size_t files = 0;          // number of most fragmented files to name
  std::vector<unsigned> writers;  // numbers of writers to simulate; empty: no simulation
  unsigned cpus = 0;              // CPUs that the writers share; 0: one per writer
  contention::Pace pace;          // pace of the writers

  // For verify():
  bool free_run = false;  // report the run that makes its own decisions
};

// Parses a policy: its name, a kernel's code as "kernel:FILE", or a policy file. A policy file is
// given by its path ("./roomy.so") or by its name in a directory of E4REPLAY_POLICY_PATH ("roomy").
[[nodiscard]] Result<const allocator::Policy*> parse_policy(const std::string& name);
// Parses a list such as "legacy,kernel:mine.uml" and keeps its order. Fails on an unknown name (the
// message lists the known ones) and on an empty list.
[[nodiscard]] Result<std::vector<const allocator::Policy*>> parse_policies(std::string_view text);

// A policy whose code is in a file (a kernel or a policy file), with facts that identify the file's
// contents.
struct PolicyFile {
  const allocator::Policy* policy = nullptr;
  std::string file;            // the given path, without "kernel:"
  std::string release;         // release of a kernel; empty for a policy file
  std::uint32_t criteria = 0;  // number of criteria of a kernel
  std::uint32_t sum = 0;       // CRC-32C of the file
  std::string commit = {};     // the commit of a kernel's tree; empty: unknown
  bool dirty = false;          // the tree had uncommitted changes
};
// Reads the policy's file. Returns nullopt for a built-in policy. The Error says what cannot be
// read.
[[nodiscard]] Result<std::optional<PolicyFile>> policy_file(const allocator::Policy& policy);

// Declares the files from which the policies are read.
void declare_reads(std::span<const allocator::Policy* const> policies, Outputs& outputs);

// A file system in its start state.
struct StartPoint {
  const state::Source& source;  // must outlive the decider
  std::string image_path;       // path to open its image again
  std::string image_name;       // the image's name in messages
  // What it held in memory. Only for the code of a kernel; a model gets it from WarmStart.
  allocator::Planted planted = {};
};

// Makes the policy's model, or boots the kernel that it names. If `loaded`, the buddies of all
// groups are in memory, as after a read of mb_groups. Otherwise no buddy is in memory.
[[nodiscard]] Result<std::unique_ptr<allocator::Decider>> make_decider(
    const allocator::Policy& policy, const allocator::Tunables& tunables, const StartPoint& start,
    bool loaded);

// Turns opened inputs into setups for replays.

// Warns if a kernel's code starts without a part of the state that the recorded kernel held in
// memory.
void warn_of_cold_kernel(const allocator::Policy& policy, const Inputs& inputs,
                         const Listener& listener);

// Makes a setup for the policy with these tunables. Its decider is the model or the kernel's code.
// It has the accounts from which every Outcome takes figures. `inputs` must outlive the setup.
[[nodiscard]] replay::Setup make_setup(const allocator::Policy& policy,
                                       const allocator::Tunables& tunables, const Inputs& inputs);

// The policies that `replay` compares without -p: the recorded kernel's policy, then the nearest
// earlier and the nearest later policy of a long-term kernel.
[[nodiscard]] std::vector<const allocator::Policy*> with_neighbours(std::string_view recorded);

// Applies every setting (NAME=VALUE) to the tunables.
[[nodiscard]] Status apply_settings(allocator::Tunables& tunables,
                                    const std::vector<std::string>& settings);

// Returns the value of Setup::check_every for the run.
[[nodiscard]] inline std::uint64_t check_every(const RunSpec& spec) {
  return spec.check ? replay::Setup::kOften : 0;
}

// Validates settings before any work starts.
[[nodiscard]] Status check_settings(const std::vector<std::string>& settings);

// `progress` must outlive the session.
[[nodiscard]] replay::SessionOptions session_options(const Inputs& inputs, Progress& progress);

// Makes a report that contains the image, the trace, and the free extents before the run.
[[nodiscard]] report::ReplayReport start_report(const Inputs& inputs);

// Adds further accounts to the setup.
void keep_also(replay::Setup& setup, replay::AddAccounts more);

// Adds an account that explains the decisions with these numbers, from 1.
[[nodiscard]] replay::AddAccounts explanations_of(std::vector<std::uint64_t> decisions);

// Returns the explanation of a decision; empty if it was not requested or the run made no such
// decision.
[[nodiscard]] std::string explanation(const replay::Run& run, std::uint64_t decision);

// Returns the explanation of decision RunSpec::explain; empty if none was requested. Fails if no
// decision has that number.
[[nodiscard]] Result<std::string> explained(std::uint64_t decision, const replay::Run& run);

}  // namespace e4r::app
