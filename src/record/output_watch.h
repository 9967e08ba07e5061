// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/types.h>

#include <string>

#include "util/fd.h"
#include "util/status.h"

namespace e4r::record {

// Checks that the output file still exists and is whole: a recorded command may remove or truncate
// it. Accepts anything that is not a regular file.
class OutputWatch {
 public:
  OutputWatch() = default;
  explicit OutputWatch(const std::string& path);
  // Fails if the file is gone or no longer whole.
  [[nodiscard]] Status check();

 private:
  std::string path_;
  Fd file_;
  off_t largest_ = 0;  // the largest size seen
};

}  // namespace e4r::record
