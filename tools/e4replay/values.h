// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "common/completion.h"

namespace e4r::tools {

// What completes a value, by its placeholder in --help.
[[nodiscard]] completion::Value value_of(std::string_view placeholder);

}  // namespace e4r::tools
