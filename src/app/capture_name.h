// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "app/inputs.h"
#include "util/output.h"
#include "util/status.h"

// How commands that take several captures are told of each.
namespace e4r::app {

// Image and trace behind one word of the command line: FILE.e4c, or IMAGE:TRACE at the one colon
// that has a file on either side.
struct CaptureName {
  std::string name;   // the word
  std::string image;  // or the capture, and no trace
  std::string trace;
};
[[nodiscard]] Result<CaptureName> parse_capture(const std::string& word);

// It, to be opened.
[[nodiscard]] InputOptions input_options(const CaptureName& name, unsigned threads);

// What it is read from.
void declare_reads(const CaptureName& name, Outputs& outputs);

}  // namespace e4r::app
