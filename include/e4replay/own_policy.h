// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include <e4replay/export.h>
#include <e4replay/plugin.h>
#include <e4replay/result.h>

// Policies that the program itself defines. They are described like those from files (plugin.h) but
// need no file:
//   e4replay::plugin::host = &e4replay::plugin_host();
//   const auto name = e4replay::add_policy(describe());
//   e4replay::replay(recording, {.policies = {"legacy", *name}});
namespace e4replay {

// The functions that plugin.h calls. Valid while the library is loaded.
[[nodiscard]] E4REPLAY_API const plugin::Host& plugin_host();

// Adds the policy. Returns the name that calls of the library accept. Reports show the policy's own
// name, which several policies of the program may share. Names, texts and the ladder are copied,
// except `meaning` and `tunable` of a rung. Errors: a description that breaks a rule of plugin.h; a
// name that a policy of the library has. Thread-safe.
[[nodiscard]] E4REPLAY_API Result<std::string> add_policy(const plugin::Policy& policy);
// Makes the name unknown. Reports, sweeps and allocators that were made with the policy keep it.
// Once no call and no Allocator uses it, its functions are no longer called. Ignores an unknown
// name. Thread-safe.
E4REPLAY_API void remove_policy(const std::string& name);

}  // namespace e4replay
