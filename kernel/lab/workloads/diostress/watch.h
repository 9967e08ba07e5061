// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <string>

namespace dio {

// Runs the work in a child process and returns its status. If it has not ended after this many
// seconds, prints a message and returns 1. A thread that waits forever in the kernel cannot be
// killed, so the process is then left alone.
int watched(double seconds, const std::string& name, const std::function<int()>& work);

}  // namespace dio
