// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/inputs.h"
#include "report/replay_report.h"
#include "state/mb_group.h"
#include "stats/mb_files.h"

// The kernel's own account of the recorded run: given, in the capture, or beside the trace.
namespace e4r::app {

// Why a capture's account of its end is of no moment: it was read while the file system was written
// to. Empty where it is, or there is no capture.
[[nodiscard]] std::string end_in_doubt(const Inputs& inputs);

// mb_groups at the end; `given`: a file that is named.
[[nodiscard]] Result<std::optional<std::vector<state::MbGroup>>> read_kernel_groups(
    const std::string& given, const InputOptions& options, const Inputs& inputs);
// What mb_stats counted in the recorded run: at the end, less what a capture has of its start.
[[nodiscard]] Result<std::optional<std::vector<stats::MbStat>>> read_kernel_stats(
    const std::string& given, const InputOptions& options, const Inputs& inputs);

// Where an mb_stats that nobody has named says that the kernel did not count; else empty.
[[nodiscard]] Result<std::string> uncounted_stats(const InputOptions& options,
                                                  const Inputs& inputs);

// What mb_stats counted for the recorded kernel's column, which does without what cannot be read.
[[nodiscard]] report::KernelStats recorded_stats(const InputOptions& options, const Inputs& inputs);

}  // namespace e4r::app
