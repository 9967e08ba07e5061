// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// What every call from Python into the library needs: errors as exceptions, the interpreter's lock
// given up meanwhile, Ctrl-C.
#include <pybind11/pybind11.h>

#include <e4replay/listener.h>
#include <e4replay/result.h>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace e4replay::python {

namespace py = pybind11;

// Defines e4replay.Error in the module.
void define_error(py::module_& module);
// Throws e4replay.Error with that line. The interpreter's lock is held.
[[noreturn]] void raise(const std::string& message);

// The value, or e4replay.Error.
template <class T>
T must(Result<T> result) {
  if (!result.ok()) raise(result.error().message);
  return *std::move(result);
}
inline void must(const Status& status) {
  if (!status.ok()) raise(status.error().message);
}

// Gives up the interpreter's lock for as long as it lives. Code that runs meanwhile on this thread
// takes it back with Held.
class Released {
 public:
  Released();
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;
  ~Released();

 private:
  PyThreadState* before_;
};

// Takes the lock on a thread that has given it up, or that the library has made.
class Held {
 public:
  Held();
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held();
};

// One call of the library that may take long.
class Call {
 public:
  // The one on whose behalf this thread works; null: none.
  static Call* current();

  // Warnings are kept for the end, and progress asks whether to stop.
  [[nodiscard]] Listener listener();
  [[nodiscard]] bool stopped() const { return stop_; }
  void note_warning(std::string_view line);
  // Ends the call with the exception that is being handled. The first one counts. The lock is held.
  void fail();

  // Does the work on a thread of its own, while this one waits for it and for signals. Then warns
  // in Python. Throws what the work has thrown or what a signal's handler has, and std::exception.
  void run(const std::function<void()>& work);
  // Does short work on this thread, without the lock. Throws what a callback has thrown.
  void here(const std::function<void()>& work);

 private:
  void interrupt_policy();
  void wait();
  void warn() const;

  std::atomic<bool> stop_ = false;
  std::atomic<unsigned long> worker_ = 0;  // the thread that works, as Python numbers it
  std::mutex mutex_;                       // of what follows
  std::condition_variable ended_;
  bool done_ = false;
  std::exception_ptr thrown_;
  std::vector<std::string> warnings_;
};

// The work's value, or its error as an exception. `work` is given a Listener.
template <class Work>
auto long_call(Work&& work) {
  Call call;
  std::optional<std::invoke_result_t<Work, const Listener&>> result;
  const Listener listener = call.listener();
  call.run([&] { result.emplace(work(listener)); });
  return must(*std::move(result));
}

// An object that one thread may use at a time. A second one, or a callback of the object's own
// work, is refused with e4replay.Error. Made and ended with the lock held.
class Busy {
 public:
  Busy(bool& at_work, const char* what);
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy() { at_work_ = false; }

 private:
  bool& at_work_;
};

}  // namespace e4replay::python
