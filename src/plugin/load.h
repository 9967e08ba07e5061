// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <e4replay/plugin.h>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/policy.h"
#include "util/status.h"

namespace e4r::plugin {

// Whether a policy's name denotes a file: it contains a slash or ends in ".so".
[[nodiscard]] bool is_file_name(std::string_view policy);

// Opens the file and returns its policy, which has the name that the file gives it. Code of the
// file runs. The file stays open and is opened only once; the policy is valid until the program
// ends. Thread-safe. Errors: a file that cannot be opened, is not a policy, or was made for another
// interface; a description that breaks a rule of include/e4replay/plugin.h; a name in use.
[[nodiscard]] Result<const allocator::Policy*> load(const std::string& path);

// Adds a policy of the program itself, without a file. Returns the name by which find_policy()
// finds it, "program:N"; reports show the policy's own name. Errors: as for load().
[[nodiscard]] Result<std::string> add(const e4replay::plugin::Policy& policy);
// Forgets the name. Holders of the policy may go on using it.
void remove(std::string_view name);

// Finds a policy by its name: a built-in one, one that the program added, or one from a file. The
// name of a file is its path or its name in a directory of E4REPLAY_POLICY_PATH. Returns null when
// the name is unknown. Errors: as for load().
[[nodiscard]] Result<const allocator::Policy*> find_policy(const std::string& name);

// The path of the file that holds the policy; empty for a built-in policy or a kernel's code.
[[nodiscard]] std::string file_of(const allocator::Policy& policy);

// What a plan of replays needs to know about a policy from a file.
struct Description {
  struct Rung {
    std::string name;     // the name of its criterion
    std::string tunable;  // the tunable that only this rung reads; empty: no tunable
  };
  struct Tunable {
    std::string name, meaning;
    std::uint64_t fallback = 0, max = 0;
  };
  std::string name;
  std::string kernel;  // the first policy with its kernel
  std::vector<Rung> rungs;
  std::vector<Tunable> tunables;  // those that the file adds
};
[[nodiscard]] Description describe(const allocator::Policy& policy);
// Makes a policy with this description that cannot decide, because its code is not loaded. Errors:
// an invalid description.
[[nodiscard]] Result<const allocator::Policy*> noted_policy(const Description& description);

// find_file() returns the path of NAME.so in E4REPLAY_POLICY_PATH, a list of directories separated
// by colons; empty if it is in none of them. files() returns all .so files there, by directory and
// then by name.
[[nodiscard]] std::string find_file(std::string_view name);
[[nodiscard]] std::vector<std::string> files();

}  // namespace e4r::plugin
