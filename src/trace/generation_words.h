// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "trace/event.h"

namespace e4r::trace {

// The words that parse_generation() accepts.
inline constexpr std::array<std::pair<std::string_view, Generation>, 3> kGenerationWords = {{
    {"6.1", Generation::v6_1},
    {"6.5", Generation::v6_5},
    {"cr1.5", Generation::cr1_5},
}};

}  // namespace e4r::trace
