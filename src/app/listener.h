// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <functional>
#include <string>

#include "util/progress.h"

namespace e4r::app {

// Who is told things while a use case is at work.
struct Listener {
  Progress& progress;  // how far it is
  // What is doubtful of an input, or of the answer. Called from the thread of the use case alone.
  std::function<void(const std::string&)> warn;
};

}  // namespace e4r::app
