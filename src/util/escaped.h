// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace e4r {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: the bytes are not UTF-8
};

// The first character of a non-empty text.
[[nodiscard]] Character first_character(std::string_view text);

// Whether a terminal or a layout acts on the character instead of showing it: control characters,
// marks that turn the direction of text, separators of lines and paragraphs.
[[nodiscard]] bool is_obeyed(std::uint32_t code);

// The text with U+FFFD in place of each byte that is not UTF-8.
[[nodiscard]] std::string valid_utf8(std::string_view text);

// Foreign text (a name, a command, a mount point) in a form that is safe within a line. Characters
// that a terminal would obey (is_obeyed) and bytes that are not UTF-8 become "\n", "\t", "\r" or
// "\xHH" byte by byte. Other characters stay as they are.
[[nodiscard]] std::string escaped(std::string_view text);

// The same for a text of several lines: line ends stay.
[[nodiscard]] std::string escaped_lines(std::string_view text);

}  // namespace e4r
