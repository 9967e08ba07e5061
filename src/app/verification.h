// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "app/inputs.h"
#include "report/replay_report.h"

// The use case of `e4replay verify`: whether a policy decides as the recorded kernel did.
namespace e4r::app {

struct VerificationOptions {
  const allocator::Policy* policy = nullptr;  // null: the recorded kernel's
  bool free_run = false;                      // report the run that decides alone
  // The kernel's files from the end; empty: the capture's, or those beside the trace.
  std::string mb_groups;
  std::string mb_stats;
};

// Follows the recorded kernel, then decides alone, and compares decisions, groups and counters with
// the kernel's, under the recorded tunables with the settings applied. A kernel's code only decides
// alone. Fails on an invalid setting, a trace without closed decisions, unreadable input, and a
// kernel that ends.
[[nodiscard]] Result<report::ReplayReport> verify(const InputOptions& options,
                                                  const VerificationOptions& wanted,
                                                  const Inputs& inputs, const Listener& listener);

}  // namespace e4r::app
