// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <functional>
#include <string>

#include "util/progress.h"

namespace e4r::app {

// Receives progress and warnings of a use case.
struct Listener {
  Progress& progress;  // shows progress
  // Receives doubts about an input or an answer. Called only from the use case's own thread.
  std::function<void(const std::string&)> warn;
};

}  // namespace e4r::app
