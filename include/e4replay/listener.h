// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace e4replay {

// Who is told things while a call is at work. Both members may be empty.
struct Listener {
  // What is doubtful of an input, or of the answer: one line for a person. Called on the thread
  // that called the library.
  std::function<void(std::string_view line)> warn = {};
  // How far the work is: `what` has done `done` events of `total`. Returns false to stop the work,
  // which then ends with the Error "stopped". May be called on any thread, also on several at
  // once. It must not throw.
  std::function<bool(std::string_view what, std::uint64_t done, std::uint64_t total)> progress = {};
};

}  // namespace e4replay
