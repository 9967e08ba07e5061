// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/lasting_thread.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

namespace e4r::guest {
namespace {

class Forker {
 public:
  Forker() : owner_(::getpid()) {
    // Signals are for the threads that wait for them.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    mask_ = before;
    try {
      std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
      owner_ = -1;
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  // False: there is no thread here, as after a fork() of somebody else's.
  [[nodiscard]] bool works() const { return owner_ == ::getpid(); }

  pid_t fork(const std::function<void()>& in_child) {
    std::unique_lock lock(mutex_);
    wanted_ = &in_child;
    changed_.notify_all();
    changed_.wait(lock, [this] { return wanted_ == nullptr; });
    errno = errno_;
    return made_;
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return wanted_ != nullptr; });
      made_ = ::fork();
      errno_ = errno;
      if (made_ == 0) {
        ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
        (*wanted_)();
        ::_exit(127);
      }
      wanted_ = nullptr;
      changed_.notify_all();
    }
  }

  pid_t owner_;
  sigset_t mask_ = {};
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* wanted_ = nullptr;
  pid_t made_ = -1;
  int errno_ = 0;
};

}  // namespace

pid_t fork_in_lasting_thread(const std::function<void()>& in_child) {
  static std::mutex one_at_a_time;
  static Forker* forker = nullptr;  // stays: its thread does
  const std::lock_guard lock(one_at_a_time);
  if (forker == nullptr || !forker->works()) forker = new Forker;
  if (forker->works()) return forker->fork(in_child);
  errno = EAGAIN;
  return -1;
}

}  // namespace e4r::guest
