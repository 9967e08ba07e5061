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

// Whether a policy's name is that of a file: it has a slash, or ends in ".so".
[[nodiscard]] bool is_file_name(std::string_view policy);

// The policy of the file, which is opened and stays open: the code in it runs. It has the name that
// the file says. Good for as long as the program runs; the same file is opened once. Thread-safe.
// Errors: what cannot be opened; a file that is no policy, or was made for another interface; a
// description that breaks a rule of include/e4replay/plugin.h; a name that another policy has.
[[nodiscard]] Result<const allocator::Policy*> load(const std::string& path);

// Adds a policy of the program itself, which needs no file. Returns the name under which
// find_policy() knows it, "program:N"; its own name is for reports. Errors: as of load().
[[nodiscard]] Result<std::string> add(const e4replay::plugin::Policy& policy);
// That name is none any more. What has the policy already keeps it.
void remove(std::string_view name);

// The policy of a name: built in, added by the program, or from a file, by the file or by its name
// in a directory of E4REPLAY_POLICY_PATH. Null: there is none. Errors: load()'s.
[[nodiscard]] Result<const allocator::Policy*> find_policy(const std::string& name);

// The file that a policy came from; empty: it is built in, or the code of a kernel.
[[nodiscard]] std::string file_of(const allocator::Policy& policy);

// What a plan of replays takes of a policy from a file.
struct Description {
  struct Rung {
    std::string name;     // of its criterion
    std::string tunable;  // that is the rung's alone; empty: none
  };
  struct Tunable {
    std::string name, meaning;
    std::uint64_t fallback = 0, max = 0;
  };
  std::string name;
  std::string kernel;  // the first policy that stands on its kernel
  std::vector<Rung> rungs;
  std::vector<Tunable> tunables;  // of the file's own
};
[[nodiscard]] Description describe(const allocator::Policy& policy);
// A policy that is described so and cannot decide: no code is loaded for it. Errors: a description
// of no policy.
[[nodiscard]] Result<const allocator::Policy*> noted_policy(const Description& description);

// The file "NAME.so" in the directories of E4REPLAY_POLICY_PATH, which are separated by colons;
// empty: there is none. And all files there that are called so, in the order of the directories and
// of their names.
[[nodiscard]] std::string find_file(std::string_view name);
[[nodiscard]] std::vector<std::string> files();

}  // namespace e4r::plugin
