// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "app/inputs.h"
#include "util/output.h"
#include "util/status.h"

// The names of captures in commands that take several.
namespace e4r::app {

// The image and trace behind one word of the command line: FILE.e4c, or IMAGE:TRACE, split at the
// only colon with a file on either side.
struct CaptureName {
  std::string name;   // the whole word
  std::string image;  // the image, or a capture without a separate trace
  std::string trace;
};
[[nodiscard]] Result<CaptureName> parse_capture(const std::string& word);

// The options to open it.
[[nodiscard]] InputOptions input_options(const CaptureName& name, unsigned threads);

// Declares the files that it is read from.
void declare_reads(const CaptureName& name, Outputs& outputs);

}  // namespace e4r::app
