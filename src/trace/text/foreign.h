// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string_view>

namespace e4r::trace {

// What these first bytes of a file are, and what to give in its place, for forms of traces that
// lack what a replay needs; empty for all others.
[[nodiscard]] std::string_view foreign_form(std::string_view head);

}  // namespace e4r::trace
