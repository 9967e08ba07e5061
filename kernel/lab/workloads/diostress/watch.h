// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <string>

namespace dio {

// Does the work in a process of its own and returns its status; says so and returns 1 when it has
// not ended after so many seconds. A thread that the kernel lets wait for ever cannot be killed:
// the process is then left alone.
int watched(double seconds, const std::string& name, const std::function<int()>& work);

}  // namespace dio
