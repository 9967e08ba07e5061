// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/allocator.h"
#include "allocator/policy.h"
#include "conformance/model_fs.h"

namespace e4r::conformance {

// An allocator with one policy on a start image.
struct Rig {
  Rig(const allocator::Policy& policy, ModelFs& fs)
      : Rig(policy, fs, allocator::defaults_for(fs.geometry())) {}
  Rig(const allocator::Policy& policy, ModelFs& fs, const allocator::Tunables& knobs)
      : tunables(knobs),
        state(fs.source(), allocator::group_index(policy, tunables)),
        allocator(state, policy, tunables) {}
  Rig(std::string_view policy, ModelFs& fs) : Rig(*allocator::find_policy(policy), fs) {}
  Rig(std::string_view policy, ModelFs& fs, const allocator::Tunables& knobs)
      : Rig(*allocator::find_policy(policy), fs, knobs) {}

  allocator::Tunables tunables;
  state::FsState state;
  allocator::Allocator allocator;
};

// A request for `len` clusters at the start of a file of `size` bytes that is open for writing.
[[nodiscard]] inline allocator::Request data_request(std::uint64_t ino, std::uint32_t len,
                                                     std::uint64_t size) {
  allocator::Request r;
  r.ino = ino;
  r.len = len;
  r.flags = mb::hint_data;
  r.inputs_exact = true;
  r.size_hint = size;
  return r;
}

// A request that is served without normalisation and preallocation.
[[nodiscard]] inline allocator::Request metadata_request(std::uint32_t len, std::uint64_t goal) {
  allocator::Request r;
  r.ino = 8;
  r.len = len;
  r.goal = goal;
  return r;
}

// Frees `count` runs of `len` clusters in a full group, `len` + 1 apart, from cluster `start` on.
inline void free_runs(ModelFs& fs, std::uint32_t group, std::uint32_t start, std::uint32_t len,
                      std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) fs.free(group, start + i * (len + 1), len);
}

// Requirements that every policy must meet.

// Violations by a policy, one line each. A policy without complaints conforms.
using Complaints = std::vector<std::string>;

// A promise that must hold on every shape of file system.
struct Check {
  std::string_view name;     // "finds-the-only-free-cluster"
  std::string_view promise;  // one human-readable line
  Complaints (*run)(const allocator::Policy& policy, const ModelShape& shape);
};
[[nodiscard]] std::span<const Check> checks();

// A promise of an individual policy.
struct PolicyCheck {
  std::string_view name, promise;
  Complaints (*run)(const allocator::Policy& policy);
};
[[nodiscard]] std::span<const PolicyCheck> policy_checks();

}  // namespace e4r::conformance
