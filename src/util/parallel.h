// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
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

// `requested`, or the number of CPUs this process may use when that is 0. At least 1.
[[nodiscard]] unsigned thread_count(unsigned requested);

// Runs work(0) ... work(count - 1), each once, on at most `threads` threads, including the
// caller's. Starts them in ascending order and returns when all are done. If a call throws, no
// further calls start, and the first exception is rethrown here.
void parallel_for(unsigned threads, std::size_t count,
                  const std::function<void(std::size_t)>& work);

}  // namespace e4r
