// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <functional>

namespace e4r {

// While the object lives, stop_asked() on this thread also calls `asked`. Use it around work that
// waits, or that runs for long without reporting progress. Objects may nest; stop_asked() calls the
// functions of all of them.
class Stoppable {
 public:
  using Asked = std::function<bool()>;  // returns true to stop the work
  explicit Stoppable(Asked asked);
  Stoppable(const Stoppable&) = delete;
  Stoppable& operator=(const Stoppable&) = delete;
  ~Stoppable();

 private:
  friend bool stop_asked();
  Asked asked_;
  Stoppable* around_;
};

// Whether the work must end. If so, it returns the Error "stopped".
[[nodiscard]] bool stop_asked();

// Returns `requested` or, if that is 0, the number of CPUs that this process may use. At least 1.
[[nodiscard]] unsigned thread_count(unsigned requested);

// Runs work(0) ... work(count - 1), each once, on at most `threads` threads, including the
// caller's. Starts them in ascending order and returns when all are done. If a call throws, no
// further calls start, and the first exception is rethrown here.
void parallel_for(unsigned threads, std::size_t count,
                  const std::function<void(std::size_t)>& work);

}  // namespace e4r
