// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

namespace e4r::tools {

// Runs the body of main. An exception (out of memory, a failing stream) becomes one line on stderr.
// Closed standard streams are opened on /dev/null. Otherwise an image could get such a descriptor,
// and output would overwrite it. A signal that ends the program first removes unfinished files. If
// output could not be written, prints an error and turns success into failure.
[[nodiscard]] int run_guarded(const char* name, int (*body)(int argc, char** argv), int argc,
                              char** argv);

}  // namespace e4r::tools
