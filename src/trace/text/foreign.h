// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string_view>

namespace e4r::trace {

// Recognises trace forms that lack information a replay needs, by the first bytes of a file.
// Returns a message that names the form and what to give instead; empty for all others.
[[nodiscard]] std::string_view foreign_form(std::string_view head);

}  // namespace e4r::trace
