// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>

namespace e4r {

// Foreign text (a name, a command, a mount point) as it may be shown within a line: what a terminal
// would obey, or what would end the line, becomes "\n", "\t", "\r" or "\xHH" byte by byte. That is
// control characters, their C1 kind in UTF-8, marks that turn the direction of text, separators of
// lines and paragraphs, and bytes that are no UTF-8. Other characters stay as they are.
[[nodiscard]] std::string escaped(std::string_view text);

// The same for a text of several lines: the ends of lines stay.
[[nodiscard]] std::string escaped_lines(std::string_view text);

}  // namespace e4r
