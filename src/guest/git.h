// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <vector>

#include "util/status.h"

namespace e4r::guest {

// Runs git with these arguments and returns what it prints. Writes nothing to a repository that is
// only asked. The Error is git's message, or says that git is missing.
[[nodiscard]] Result<std::string> git(const std::vector<std::string>& words);

}  // namespace e4r::guest
