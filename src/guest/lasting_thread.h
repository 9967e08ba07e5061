// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/types.h>

#include <functional>

namespace e4r::guest {

// Forks in a thread that lasts as long as the program, and returns what fork() did. `in_child` runs
// in the child and must not return. The child can ask to end with its parent (PR_SET_PDEATHSIG):
// the kernel ends it with the thread that has made it. errno says why it failed.
[[nodiscard]] pid_t fork_in_lasting_thread(const std::function<void()>& in_child);

}  // namespace e4r::guest
