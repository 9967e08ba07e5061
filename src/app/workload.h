// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <vector>

#include "allocator/policy.h"
#include "app/inputs.h"
#include "report/replay_report.h"

// Replays without a trace: simulates the requests of a program on an existing file system.
namespace e4r::app {

struct WorkloadOptions {
  // Words ("files=10000 size=64K"), a profile's name, or an fio job file.
  std::string workload;
  // The policy that serves the program's requests when they are made. It must be a model, not a
  // kernel's code.
  const allocator::Policy* policy = nullptr;
  std::vector<std::string> settings;  // tunables, each as NAME=VALUE
};

// Whether the workload is a file that a command has to read.
[[nodiscard]] bool is_workload_file(const std::string& workload);
// Returns the policy for WorkloadOptions::policy: the first one that is a model, or legacy if none
// is a model.
[[nodiscard]] const allocator::Policy* maker_of(
    const std::vector<const allocator::Policy*>& policies);

// Makes the inputs that a recording of the workload on the image would give: runs the program under
// the policy, on a model of the image that has just been mounted and has all groups loaded. Errors:
// a file system that ageing does not support; a workload that cannot be parsed; more files than
// free inodes.
[[nodiscard]] Result<Inputs> make_inputs(const InputOptions& options,
                                         const WorkloadOptions& workload, const Listener& listener);

}  // namespace e4r::app
