// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/inputs.h"
#include "report/replay_report.h"
#include "state/mb_group.h"
#include "stats/mb_files.h"

// The kernel's own figures about the recorded run: from a given file, the capture, or a file beside
// the trace.
namespace e4r::app {

// Says why a capture's figures from its end are useless: the file system was written to while they
// were read, or the capture has no end. Empty if they are usable, or without a capture.
[[nodiscard]] std::string end_in_doubt(const Inputs& inputs);

// Reads mb_groups at the end of the run. `given` is a file that the user named.
[[nodiscard]] Result<std::optional<std::vector<state::MbGroup>>> read_kernel_groups(
    const std::string& given, const InputOptions& options, const Inputs& inputs);
// Reads the counts of mb_stats in the recorded run: those at the end minus those at the capture's
// start.
[[nodiscard]] Result<std::optional<std::vector<stats::MbStat>>> read_kernel_stats(
    const std::string& given, const InputOptions& options, const Inputs& inputs);

// Returns the source of the mb_stats found without the user's help if it says that the kernel did
// not count; otherwise empty.
[[nodiscard]] Result<std::string> uncounted_stats(const InputOptions& options,
                                                  const Inputs& inputs);

// Returns the mb_stats for the recorded kernel's column, or the reason why it is missing.
[[nodiscard]] report::KernelStats recorded_stats(const InputOptions& options, const Inputs& inputs);

}  // namespace e4r::app
