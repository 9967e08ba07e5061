// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "app/inputs.h"
#include "report/replay_report.h"

// What `e4replay verify` answers: whether a policy decides as the recorded kernel did.
namespace e4r::app {

struct VerificationOptions {
  const allocator::Policy* policy = nullptr;  // null: the recorded kernel's
  bool free_run = false;                      // tell of the run that decides alone
  std::string
      mb_groups;         // the kernel's files at the end; empty: the capture's, or those beside the
  std::string mb_stats;  // trace
};

// Follows the recorded kernel, decides alone, and holds decisions, groups and counters against the
// kernel's, with the recorded tunables and the settings. The code of a kernel decides alone only.
// Errors: a setting that is none; a trace without closed decisions; what cannot be read; a kernel
// that ended.
[[nodiscard]] Result<report::ReplayReport> verify(const InputOptions& options,
                                                  const VerificationOptions& wanted,
                                                  const Inputs& inputs, const Listener& listener);

}  // namespace e4r::app
