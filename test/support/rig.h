// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string_view>

#include "policy/policy.h"
#include "replay/allocator.h"
#include "support/model_fs.h"

namespace e4r::test {

[[nodiscard]] inline bool lists_on(const policy::Policy& policy, const policy::Tunables& tunables) {
  return !policy.walk_only && tunables.mb_optimize_scan != 0;
}

// An allocator for one policy on a start image.
struct Rig {
  Rig(const policy::Policy& policy, ModelFs& fs)
      : Rig(policy, fs, policy::defaults_for(fs.geometry())) {}
  Rig(const policy::Policy& policy, ModelFs& fs, const policy::Tunables& knobs)
      : tunables(knobs),
        state(fs.source(), lists_on(policy, tunables)),
        allocator(state, policy, tunables) {}
  Rig(std::string_view policy, ModelFs& fs) : Rig(*policy::find_policy(policy), fs) {}
  Rig(std::string_view policy, ModelFs& fs, const policy::Tunables& knobs)
      : Rig(*policy::find_policy(policy), fs, knobs) {}

  policy::Tunables tunables;
  state::FsState state;
  replay::Allocator allocator;
};

// A request for `len` clusters at the start of a file of `size` bytes that is open for writing.
[[nodiscard]] inline replay::Request data_request(std::uint64_t ino, std::uint32_t len,
                                                  std::uint64_t size) {
  replay::Request r;
  r.ino = ino;
  r.len = len;
  r.flags = trace::mb::hint_data;
  r.inputs_exact = true;
  r.size_hint = size;
  return r;
}

// A request that is served without normalisation and preallocation.
[[nodiscard]] inline replay::Request metadata_request(std::uint32_t len, std::uint64_t goal) {
  replay::Request r;
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

}  // namespace e4r::test
