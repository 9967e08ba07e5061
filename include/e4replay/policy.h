// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <vector>

#include <e4replay/export.h>
#include <e4replay/result.h>

namespace e4replay {

// An allocation policy: a ladder of rungs, combined with the other rules of a kernel.
struct PolicyInfo {
  std::string name;
  // A second name, or empty. find_policy() also accepts the names of builds, such as "el9_4".
  std::string alias;
  std::string summary;                // one line
  std::string source;                 // where its behaviour is defined
  std::string kernel;                 // the kernel versions whose other rules it uses
  std::string verified;               // recordings or kernel code compared with it; may be empty
  std::vector<std::string> rungs;     // names, in the order in which the rungs are tried
  std::vector<std::string> tunables;  // names of the tunables that can affect its decisions
};

// All built-in policies. Policies that model kernels are in the order in which the kernels adopted
// their rules. Thread-safe.
[[nodiscard]] E4REPLAY_API std::vector<PolicyInfo> policies();
// Finds a policy by its name or alias. The Error lists the known names.
[[nodiscard]] E4REPLAY_API Result<PolicyInfo> find_policy(const std::string& name);

}  // namespace e4replay
