// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// Support for calls from Python into the library. Turns errors into exceptions, releases the
// interpreter's lock, and handles Ctrl-C.
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
// Throws e4replay.Error with this message. Needs the interpreter's lock.
[[noreturn]] void raise(const std::string& message);

// Returns the value, or throws e4replay.Error.
template <class T>
T must(Result<T> result) {
  if (!result.ok()) raise(result.error().message);
  return *std::move(result);
}
inline void must(const Status& status) {
  if (!status.ok()) raise(status.error().message);
}

// Releases the interpreter's lock during its lifetime. Code on this thread that needs the lock
// meanwhile takes it with Held.
class Released {
 public:
  Released();
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;
  ~Released();

 private:
  PyThreadState* before_;
};

// Takes the lock on a thread that has released it or that the library has created.
class Held {
 public:
  Held();
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held();
};

// A call into the library that may take long.
class Call {
 public:
  // The call for which this thread works, or null.
  static Call* current();

  // Collects warnings until the end of the call. Its progress function stops the work when the call
  // must stop.
  [[nodiscard]] Listener listener();
  [[nodiscard]] bool stopped() const { return stop_; }
  void note_warning(std::string_view line);
  // Ends the call with the current Python exception. Only the first exception counts. Needs the
  // lock.
  void fail();

  // Runs the work on another thread, while this thread waits for it and handles signals. Then
  // issues the warnings in Python. Throws the exception of the work or of a signal handler. Also
  // throws (as std::exception) if no thread can be started or a warning filter turns a warning into
  // an exception.
  void run(const std::function<void()>& work);
  // Runs short work on this thread, without the lock. Throws the exception of a callback.
  void here(const std::function<void()>& work);

 private:
  void interrupt_policy();
  void wait();
  void warn() const;

  std::atomic<bool> stop_ = false;
  std::atomic<unsigned long> worker_ = 0;  // Python's identifier of the working thread
  std::mutex mutex_;                       // guards the members below
  std::condition_variable ended_;
  bool done_ = false;
  std::exception_ptr thrown_;
  std::vector<std::string> warnings_;
};

// Returns the work's value, or throws its Error as an exception. `work` receives a Listener.
template <class Work>
auto long_call(Work&& work) {
  Call call;
  std::optional<std::invoke_result_t<Work, const Listener&>> result;
  const Listener listener = call.listener();
  call.run([&] { result.emplace(work(listener)); });
  return must(*std::move(result));
}

// Marks an object that only one thread may use at a time. If a second thread or a callback of the
// object's own work uses it, throws e4replay.Error. Constructed and destroyed with the lock held.
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
