// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdio>
#include <exception>

#include "common/command.h"

namespace e4r::tools {

// The body of main: what is thrown (out of memory, a failing stream) is still one line on stderr.
inline int guarded(const char* name, int (*body)(int argc, char** argv), int argc, char** argv) {
  try {
    return body(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", name, e.what());
    return kFailed;
  }
}

}  // namespace e4r::tools
