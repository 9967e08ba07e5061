// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/inputs.h"
#include "replay/session.h"
#include "report/replay_report.h"

// Turns opened inputs into setups for replays.
namespace e4r::app {

// Whether a kernel's code would start without the state that the file system held only in memory
// when recording began.
[[nodiscard]] bool begins_cold(const allocator::Policy& policy, const Inputs& inputs);
// Warns if a kernel's code starts without the state that an already mounted file system held only
// in memory.
void warn_of_cold_kernel(const allocator::Policy& policy, const Inputs& inputs,
                         const Listener& listener);

// Makes a setup for the policy with these tunables. Its decider is the model or the kernel's code.
// `inputs` must outlive the setup.
[[nodiscard]] replay::Setup make_setup(const allocator::Policy& policy,
                                       const allocator::Tunables& tunables, const Inputs& inputs);

// The policies that `replay` compares without -p: the recorded kernel's policy, then the nearest
// earlier and the nearest later policy of a long-term kernel.
[[nodiscard]] std::vector<const allocator::Policy*> with_neighbours(std::string_view recorded);

// Applies every setting (NAME=VALUE) to the tunables.
[[nodiscard]] Status apply_settings(allocator::Tunables& tunables,
                                    const std::vector<std::string>& settings);

// Validates settings before any work starts.
[[nodiscard]] Status check_settings(const std::vector<std::string>& settings);

// `progress` must outlive the session.
[[nodiscard]] replay::SessionOptions session_options(const InputOptions& options,
                                                     const Inputs& inputs, Progress& progress);

// Starts a report with its head: image, trace, and free extents before the run.
[[nodiscard]] report::ReplayReport start_report(const InputOptions& options, const Inputs& inputs);

// The requested explanation, from the run; empty without a request. Fails if no decision has that
// number.
[[nodiscard]] Result<std::string> explained(const InputOptions& options, const replay::Run& run);

}  // namespace e4r::app
