// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace e4r {
namespace {

thread_local Stoppable* innermost = nullptr;

}  // namespace

Stoppable::Stoppable(Asked asked)
    : asked_(std::move(asked)), around_(std::exchange(innermost, this)) {}

Stoppable::~Stoppable() {
  innermost = around_;
}

bool stop_asked() {
  for (const Stoppable* one = innermost; one != nullptr; one = one->around_)
    if (one->asked_()) return true;
  return false;
}

namespace {

// The indexes that have not been handed out yet, and the first failure.
class WorkQueue {
 public:
  WorkQueue(std::size_t count, const std::function<void(std::size_t)>& work)
      : count_(count), work_(work) {}

  void drain() {
    try {
      for (std::size_t i = next_++; i < count_; i = next_++) work_(i);
    } catch (...) {
      next_ = count_;
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const std::size_t count_;
  const std::function<void(std::size_t)>& work_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

unsigned thread_count(unsigned requested) {
  return requested != 0 ? requested : std::max(1u, std::thread::hardware_concurrency());
}

void parallel_for(unsigned threads, std::size_t count,
                  const std::function<void(std::size_t)>& work) {
  WorkQueue queue(count, work);
  {
    std::vector<std::jthread> helpers;
    try {
      while (helpers.size() + 1 < std::min<std::size_t>(threads, count))
        helpers.emplace_back([&queue] { queue.drain(); });
    } catch (const std::system_error&) {
      // The system allows no more threads, so the existing ones do the work.
    }
    queue.drain();
  }
  queue.rethrow();
}

}  // namespace e4r
