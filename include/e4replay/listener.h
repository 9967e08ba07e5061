// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace e4replay {

// Receives messages while a call is running. Both members may be empty.
struct Listener {
  // A warning about an input or about the result, as one human-readable line. Called on the thread
  // that called the library.
  std::function<void(std::string_view line)> warn = {};
  // Progress: the task `what` has processed `done` of `total` events. Return false to stop the
  // work, which then ends with the Error "stopped". May be called on any thread, and on several at
  // once. Must not throw.
  std::function<bool(std::string_view what, std::uint64_t done, std::uint64_t total)> progress = {};
};

}  // namespace e4replay
