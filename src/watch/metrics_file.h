// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "util/status.h"

namespace e4r::watch {

// A file that is replaced as a whole again and again, by a thread of its own. So a disk that is
// slow, full or frozen delays no other thread.
class MetricsFile {
 public:
  // The Error says why the file cannot be written: its directory is missing, or it is not a regular
  // file.
  [[nodiscard]] static Result<std::unique_ptr<MetricsFile>> open(const std::string& path);
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;
  // Waits until the last text has been written.
  ~MetricsFile();

  // Queues the text for writing. It replaces a text that is still waiting.
  void write(std::string text);
  // Why the file could not be written. Reported once, until writing has succeeded again.
  [[nodiscard]] std::optional<std::string> take_error();

 private:
  explicit MetricsFile(std::string path) : path_(std::move(path)) {}
  void run();
  [[nodiscard]] Status write_now(const std::string& text) const;

  std::string path_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::optional<std::string> waiting_, error_;
  bool fails_ = false, ends_ = false;
  std::thread thread_;
};

}  // namespace e4r::watch
