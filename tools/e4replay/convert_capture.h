// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <vector>

#include "trace/trace.h"
#include "util/output.h"
#include "util/status.h"

namespace e4r::tools {

// Between a capture (.e4c) and a trace with files beside it, or from one capture to another.
struct CaptureConversion {
  std::string input;
  trace::OpenOptions open;  // of the input's events
  std::string output;
  std::string image;  // the start image: to read, or to write
  bool anonymize = false;
  Outputs outputs = {};  // where all of what is written has been declared
};

// Makes a capture of a trace, what lies beside it, and the image; or of a capture. Says so.
[[nodiscard]] Status make_capture(const CaptureConversion& conversion);

// The files that write_files_of_capture() may write beside a trace of that name.
[[nodiscard]] std::vector<std::string> files_beside(const std::string& trace);

// Writes what a capture holds beside its events: the image, and its texts under the output's name.
[[nodiscard]] Status write_files_of_capture(const CaptureConversion& conversion);

}  // namespace e4r::tools
