// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <vector>

#include <e4replay/export.h>
#include <e4replay/result.h>

namespace e4replay {

// An allocation policy: a ladder of rungs on the rules of a kernel.
struct PolicyInfo {
  std::string name;
  std::string alias;     // another name for it; empty: none
  std::string summary;   // one line
  std::string source;    // where its behaviour is defined
  std::string kernel;    // the versions whose other rules it has
  std::string verified;  // what its decisions were held against, one line; empty: no kernel
  std::vector<std::string> rungs;     // names, in the order in which they are tried
  std::vector<std::string> tunables;  // names of those that can change its decisions
};

// All policies of the library, those of kernels in the order in which kernels came to their rules.
// Thread-safe.
[[nodiscard]] E4REPLAY_API std::vector<PolicyInfo> policies();
// The one of a name or alias. The Error lists the names that there are.
[[nodiscard]] E4REPLAY_API Result<PolicyInfo> find_policy(const std::string& name);

}  // namespace e4replay
