// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>

// Texts of the kernel as people hand them on: pasted into a mail or saved by an editor.
namespace e4r {

// The text with "\n" at the ends of its lines, and without a mark of byte order before them.
[[nodiscard]] inline std::string unix_lines(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || (i + 1 < text.size() && text[i + 1] != '\n')) out += text[i];
  return out;
}

// The line without the blanks before and behind it.
[[nodiscard]] constexpr std::string_view trimmed(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  const auto first = line.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace e4r
