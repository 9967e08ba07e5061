// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/inputs.h"
#include "replay/session.h"
#include "report/replay_report.h"

// From what was read to what is replayed.
namespace e4r::app {

// Whether the code of a kernel begins without what the file system held in memory alone when
// recording began.
[[nodiscard]] bool begins_cold(const allocator::Policy& policy, const Inputs& inputs);
// Warns of what the code of a kernel does not begin with: what a file system that had been mounted
// before held in memory alone.
void warn_of_cold_kernel(const allocator::Policy& policy, const Inputs& inputs,
                         const Listener& listener);

// The policy with these tunables, and who decides by it: the model, or the code of the kernel that
// it names. `inputs` must outlive the setup.
[[nodiscard]] replay::Setup make_setup(const allocator::Policy& policy,
                                       const allocator::Tunables& tunables, const Inputs& inputs);

// The setup for a run besides the one that is reported: it watches nothing, keeps no rows and
// explains nothing, but for what the caller then asks for.
[[nodiscard]] replay::Setup for_another_run(replay::Setup setup);

// What `replay` compares without -p: the recorded kernel's policy first, and then its neighbours
// among those of long-term kernels, the one before it and the one after it.
[[nodiscard]] std::vector<const allocator::Policy*> with_neighbours(std::string_view recorded);

// Tunables with every setting (NAME=VALUE) applied.
[[nodiscard]] Status apply_settings(allocator::Tunables& tunables,
                                    const std::vector<std::string>& settings);

// Whether every setting could be applied: for who asks before any work.
[[nodiscard]] Status check_settings(const std::vector<std::string>& settings);

// `progress` must outlive the session.
[[nodiscard]] replay::SessionOptions session_options(const InputOptions& options,
                                                     const Inputs& inputs, Progress& progress);

// The report's head: image, trace, free extents before.
[[nodiscard]] report::ReplayReport start_report(const InputOptions& options, const Inputs& inputs);

// The decision that is to be explained, as the run has written it down; empty when none was asked
// for. The Error when there is none of that number.
[[nodiscard]] Result<std::string> explained(const InputOptions& options, const replay::Run& run);

}  // namespace e4r::app
