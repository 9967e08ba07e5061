// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>

namespace e4r {

// Starts when it is constructed.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace e4r
