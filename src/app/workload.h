// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <vector>

#include "allocator/policy.h"
#include "app/inputs.h"
#include "report/replay_report.h"

// Replays without a trace: a new program's requests on a file system as it is.
namespace e4r::app {

struct WorkloadOptions {
  // Words ("files=10000 size=64K"), a profile's name, or a job file of fio.
  std::string workload;
  // The policy whose decisions the program sees while its requests are made. Its code must not be a
  // kernel's.
  const allocator::Policy* policy = nullptr;
  std::vector<std::string> settings;  // tunables, each as NAME=VALUE
};

// Whether the workload is a file, which a command then reads.
[[nodiscard]] bool is_workload_file(const std::string& workload);
// The first policy that is a model makes the requests. Without a model, legacy does.
[[nodiscard]] const allocator::Policy* maker_of(
    const std::vector<const allocator::Policy*>& policies);

// The same as a recording of the workload on the image would be: a program does it under the
// policy, on a model of the image that was just mounted, with all groups loaded. Fails like ageing
// on a file system that ageing does not support, on a workload that cannot be understood, and on
// one that asks for more files than inodes are free.
[[nodiscard]] Result<Inputs> make_inputs(const InputOptions& options,
                                         const WorkloadOptions& workload, const Listener& listener);

}  // namespace e4r::app
