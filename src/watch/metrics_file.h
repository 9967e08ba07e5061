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

// A file that is replaced whole again and again, by a thread of its own. A disk that is slow, full
// or frozen delays nobody else.
class MetricsFile {
 public:
  // The Error says why the file cannot be written: its directory is missing, or it is no regular
  // file.
  [[nodiscard]] static Result<std::unique_ptr<MetricsFile>> open(const std::string& path);
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;
  // Waits until the last text is written.
  ~MetricsFile();

  // Writes the text soon. A text that still waits is dropped.
  void write(std::string text);
  // Why the file could not be written, once; nothing as long as that goes on.
  [[nodiscard]] std::optional<std::string> trouble();

 private:
  explicit MetricsFile(std::string path) : path_(std::move(path)) {}
  void run();
  [[nodiscard]] Status write_now(const std::string& text) const;

  std::string path_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::optional<std::string> waiting_, trouble_;
  bool fails_ = false, ends_ = false;
  std::thread thread_;
};

}  // namespace e4r::watch
