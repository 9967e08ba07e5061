// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include <e4replay/export.h>
#include <e4replay/plugin.h>
#include <e4replay/result.h>

// A policy of the program itself: described as one from a file is (plugin.h), without a file.
//   e4replay::plugin::host = &e4replay::plugin_host();
//   const auto name = e4replay::add_policy(describe());
//   e4replay::replay(recording, {.policies = {"legacy", *name}});
namespace e4replay {

// What the functions of plugin.h call. Good for as long as the library is loaded.
[[nodiscard]] E4REPLAY_API const plugin::Host& plugin_host();

// Adds the policy. Returns the name under which calls of the library take it; reports have it under
// its own name, which several policies of the program may share. Names, texts and the ladder are
// copied, but not `meaning` and `tunable` of a rung. Errors: a description that breaks a rule of
// plugin.h; a name that a policy of the library has. Thread-safe.
[[nodiscard]] E4REPLAY_API Result<std::string> add_policy(const plugin::Policy& policy);
// Takes the name back. Reports, sweeps and allocators that were made with the policy keep it; once
// no call and no Allocator decides by it, its functions are called no more. A name that is none is
// left alone. Thread-safe.
E4REPLAY_API void remove_policy(const std::string& name);

}  // namespace e4replay
