// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <mutex>
#include <string>

namespace e4r {

// One line on standard error that tells how far a long piece of work is, rewritten in place a few
// times a second and wiped when the object goes. Silent unless standard error is a terminal and
// `enabled` is set. Thread-safe.
class Progress {
 public:
  explicit Progress(bool enabled);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  [[nodiscard]] bool active() const { return active_; }
  void show(const std::string& text);
  // Removes the line, before something else is printed.
  void wipe();

 private:
  bool active_;
  bool shown_ = false;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace e4r
