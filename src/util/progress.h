// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

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

// A progress line on standard error for long work. It is rewritten in place a few times a second
// and wiped when the object is destroyed. Nothing is shown unless standard error is a terminal and
// `enabled` is set. A function can receive the progress instead. Thread-safe.
class Progress {
 public:
  // Reports that `done` of `total` events of the task `what` are done. Returns false to stop the
  // work. Called on any thread.
  using Callback =
      std::function<bool(std::string_view what, std::uint64_t done, std::uint64_t total)>;

  explicit Progress(bool enabled);
  // `callback` may be empty.
  explicit Progress(Callback callback);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  [[nodiscard]] bool active() const { return active_; }
  // Shows the string, on a terminal only.
  void show(const std::string& text);
  // Shows that `done` of `total` events of the task `what` are done. Returns false if the work is
  // to stop.
  bool count(std::string_view what, std::uint64_t done, std::uint64_t total);
  // Removes the line, so that something else can be printed.
  void wipe();

 private:
  Callback callback_;
  bool terminal_;
  bool active_;
  bool shown_ = false;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace e4r
