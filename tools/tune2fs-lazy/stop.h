// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>

namespace e4r::tools {

// Set by SIGINT, SIGTERM and SIGHUP from the first call on. A second signal ends the program as it
// would have without.
[[nodiscard]] const std::atomic<bool>& stop_on_signals();

}  // namespace e4r::tools
