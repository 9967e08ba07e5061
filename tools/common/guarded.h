// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

namespace e4r::tools {

// The body of main: what is thrown (out of memory, a failing stream) is still one line on stderr.
// Standard streams that the caller has closed are /dev/null, so that no image is opened as one of
// them and printed into. A signal that ends the program removes unfinished files first. Output that
// could not be written is told, and makes of success a failure.
[[nodiscard]] int guarded(const char* name, int (*body)(int argc, char** argv), int argc,
                          char** argv);

}  // namespace e4r::tools
