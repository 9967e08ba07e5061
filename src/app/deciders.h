// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "allocator/decider.h"
#include "util/output.h"
#include "util/status.h"

// Who decides, by the name that a command is given.
namespace e4r::app {

// A policy by its name, the code of a kernel as "kernel:FILE", or a policy from a file: by the file
// ("./roomy.so"), or by its name in a directory of E4REPLAY_POLICY_PATH ("roomy").
[[nodiscard]] Result<const allocator::Policy*> parse_policy(const std::string& name);
// Those of a list "legacy,kernel:mine.uml", in its order. Errors: an unknown name (the message
// lists those there are), an empty list.
[[nodiscard]] Result<std::vector<const allocator::Policy*>> parse_policies(const std::string& text);

// A policy that is code in a file, and what shows that it is still the same: a kernel, or a policy
// from a file.
struct PolicyFile {
  const allocator::Policy* policy = nullptr;
  std::string file;            // as it was given, without "kernel:"
  std::string release;         // of a kernel; empty: a policy from a file
  std::uint32_t criteria = 0;  // that a kernel has
  std::uint32_t sum = 0;       // CRC-32C of the file
  std::string commit = {};     // that a kernel's tree was at; empty: it is not known
  bool dirty = false;          // that tree had changes that were not committed
};
// Reads the file of a policy now; none: the policy is one of ours. The error says what cannot be
// read.
[[nodiscard]] Result<std::optional<PolicyFile>> policy_file(const allocator::Policy& policy);

// What the policies are read from.
void declare_reads(std::span<const allocator::Policy* const> policies, Outputs& outputs);

// A file system as it is before anything is decided.
struct StartPoint {
  const state::Source& source;  // must outlive who decides for it
  std::string image_path;       // under which its image can be opened again
  std::string image_name;       // what messages call the image
};

// The model of the policy, or the kernel that it names, which is booted here. `loaded`: the buddies
// of all groups are in memory, as after a look at mb_groups; otherwise none is.
[[nodiscard]] Result<std::unique_ptr<allocator::Decider>> make_decider(
    const allocator::Policy& policy, const allocator::Tunables& tunables, const StartPoint& start,
    bool loaded);

}  // namespace e4r::app
