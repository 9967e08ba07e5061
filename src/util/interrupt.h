// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <functional>

namespace e4r {

// Lets somebody stop the work of this thread where it waits, or goes on for long without telling of
// its progress: for as long as the object lives, stop_asked() asks him. Objects may nest; all are
// asked.
class Stoppable {
 public:
  using Asked = std::function<bool()>;  // true: stop
  explicit Stoppable(Asked asked);
  Stoppable(const Stoppable&) = delete;
  Stoppable& operator=(const Stoppable&) = delete;
  ~Stoppable();

 private:
  friend bool stop_asked();
  Asked asked_;
  Stoppable* around_;
};

// Whether the work is to end, with the Error "stopped".
[[nodiscard]] bool stop_asked();

}  // namespace e4r
