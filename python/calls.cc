// SPDX-License-Identifier: GPL-2.0-or-later
#include "calls.h"

#include <chrono>

namespace e4replay::python {
namespace {

constexpr auto kLookForSignals = std::chrono::milliseconds(20);
// The stack level of the caller: one above the method in __init__.py.
constexpr Py_ssize_t kCaller = 2;

// e4replay.Error; never freed before the interpreter ends.
PyObject* error_class = nullptr;

// The Python state of a thread that does not hold the lock. A thread created by the library gets
// one on first use.
struct ThreadState {
  PyThreadState* released = nullptr;
  PyThreadState* own = nullptr;
  ThreadState() = default;
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;
  ~ThreadState() {
    if (own == nullptr) return;
    PyEval_RestoreThread(own);
    PyThreadState_Clear(own);
    PyThreadState_DeleteCurrent();
  }
};
thread_local ThreadState thread;
thread_local Call* current_call = nullptr;

}  // namespace

void define_error(py::module_& module) {
  error_class = PyErr_NewExceptionWithDoc("e4replay.Error",
                                          "What went wrong, in the one line that the tool prints.",
                                          PyExc_Exception, nullptr);
  if (error_class == nullptr) throw py::error_already_set();
  module.add_object("Error", py::reinterpret_borrow<py::object>(error_class));
}

void raise(const std::string& message) {
  PyErr_SetObject(error_class,
                  py::reinterpret_steal<py::object>(
                      PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()),
                                           "surrogateescape"))
                      .ptr());
  throw py::error_already_set();
}

Released::Released() : before_(thread.released) {
  thread.released = PyEval_SaveThread();
}

Released::~Released() {
  PyEval_RestoreThread(thread.released);
  thread.released = before_;
}

Held::Held() {
  if (thread.released == nullptr) {
    thread.own = PyThreadState_New(PyInterpreterState_Main());
    thread.released = thread.own;
  }
  PyEval_RestoreThread(thread.released);
}

Held::~Held() {
  PyEval_SaveThread();
}

Call* Call::current() {
  return current_call;
}

Listener Call::listener() {
  Listener out;
  out.warn = [this](std::string_view line) { note_warning(line); };
  out.progress = [this](std::string_view, std::uint64_t, std::uint64_t) { return !stop_; };
  return out;
}

void Call::note_warning(std::string_view line) {
  const std::lock_guard lock(mutex_);
  warnings_.emplace_back(line);
}

void Call::fail() {
  const std::lock_guard lock(mutex_);
  if (!thrown_) thrown_ = std::current_exception();
  stop_ = true;
}

// Interrupts an endless Python policy by raising an exception in its thread. A policy that catches
// it gets another one.
void Call::interrupt_policy() {
  const Held held;
  PyThreadState_SetAsyncExc(worker_, PyExc_KeyboardInterrupt);
}

void Call::wait() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kLookForSignals, [this] { return done_; })) {
    if (stop_) {
      lock.unlock();
      interrupt_policy();
      lock.lock();
      continue;
    }
    lock.unlock();
    {
      const Held held;
      try {
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      } catch (...) {
        fail();
      }
    }
    lock.lock();
  }
}

void Call::run(const std::function<void()>& work) {
  {
    const Released released;
    std::thread worker([&] {
      current_call = this;
      worker_ = PyThread_get_thread_ident();
      try {
        work();
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!thrown_) thrown_ = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      done_ = true;
      ended_.notify_one();
    });
    wait();
    worker.join();
  }
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  warn();
}

void Call::here(const std::function<void()>& work) {
  {
    const Released released;
    Call* const before = std::exchange(current_call, this);
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!thrown_) thrown_ = std::current_exception();
    }
    current_call = before;
  }
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void Call::warn() const {
  for (const std::string& line : warnings_)
    if (PyErr_WarnEx(PyExc_UserWarning, line.c_str(), kCaller) != 0) throw py::error_already_set();
}

Busy::Busy(bool& at_work, const char* what) : at_work_(at_work) {
  if (at_work)
    raise(std::string(what) + " is at work in another call: use another one, or wait for its end");
  at_work = true;
}

}  // namespace e4replay::python
