// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include <e4replay/export.h>
#include <e4replay/plugin.h>
#include <e4replay/result.h>

// Policies that the program itself defines. They are described as in plugin.h but need no shared
// object:
//   e4replay::plugin::host = &e4replay::plugin_host();
//   const auto name = e4replay::add_policy(describe());
//   e4replay::replay(recording, {.policies = {"legacy", *name}});
namespace e4replay {

// The functions that plugin.h calls. Valid while the library is loaded.
[[nodiscard]] E4REPLAY_API const plugin::Host& plugin_host();

// Adds the policy. Returns the name under which the library's functions accept it. Reports show the
// policy's own name, which several policies of the program may share. Names, strings and the ladder
// are copied, except `meaning` and `tunable` of a rung, which must remain valid. Errors: a
// description that breaks a rule of plugin.h; the name of a built-in policy. Thread-safe.
[[nodiscard]] E4REPLAY_API Result<std::string> add_policy(const plugin::Policy& policy);
// Removes the policy of that name. Reports, sweeps and allocators made with the policy keep it.
// Once no running call and no Allocator uses it, its functions are no longer called. An unknown
// name is ignored. Thread-safe.
E4REPLAY_API void remove_policy(const std::string& name);

}  // namespace e4replay
