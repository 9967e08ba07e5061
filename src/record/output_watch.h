// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/types.h>

#include <string>

#include "util/fd.h"
#include "util/status.h"

namespace e4r::record {

// Whether the file that is written is still there, and whole: a command that is recorded may remove
// or truncate it. Says nothing of what is no regular file.
class OutputWatch {
 public:
  OutputWatch() = default;
  explicit OutputWatch(const std::string& path);
  // The Error: it is not there, or not whole.
  [[nodiscard]] Status check();

 private:
  std::string path_;
  Fd file_;
  off_t largest_ = 0;  // that it was
};

}  // namespace e4r::record
