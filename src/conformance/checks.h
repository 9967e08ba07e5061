// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/policy.h"
#include "conformance/model_fs.h"

// What every policy must do, whatever else it does.
namespace e4r::conformance {

// Forbidden things that a policy did, one line each. A policy without complaints conforms.
using Complaints = std::vector<std::string>;

// A promise that holds on every shape of file system.
struct Check {
  std::string_view name;     // "finds-the-only-free-cluster"
  std::string_view promise;  // one line for people
  Complaints (*run)(const allocator::Policy& policy, const ModelShape& shape);
};
[[nodiscard]] std::span<const Check> checks();

// A promise of the policy itself.
struct PolicyCheck {
  std::string_view name, promise;
  Complaints (*run)(const allocator::Policy& policy);
};
[[nodiscard]] std::span<const PolicyCheck> policy_checks();

}  // namespace e4r::conformance
