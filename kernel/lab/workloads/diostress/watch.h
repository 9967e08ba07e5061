// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <string>

namespace dio {

// Runs the work in a child process and returns its status. If the child has not ended after
// `seconds`, sends it SIGKILL, prints a message and returns 1. In this case it does not wait for
// the child, because a thread that waits forever in the kernel cannot be killed.
int watched(double seconds, const std::string& name, const std::function<int()>& work);

}  // namespace dio
