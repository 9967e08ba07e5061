// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <functional>
#include <string>

#include "common/command_line.h"
#include "util/output.h"
#include "util/status.h"

// The option --kernel-log of commands that take policies. It saves the console output of policies
// that are kernels.
namespace e4r::tools {

void declare_kernel_log(CommandLine& app, std::string& file);

// Runs the command, then writes to the file everything that its kernels printed, even if the
// command failed. If `file` is empty, nothing is kept. The command itself refuses a file that it
// cannot write (Outputs).
[[nodiscard]] Result<int> with_kernel_log(const std::string& file,
                                          const std::function<Result<int>()>& run);

}  // namespace e4r::tools
