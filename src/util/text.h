// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace e4r {

// A table for a terminal: the first column is left-aligned, the others are right-aligned, with two
// spaces between columns and no trailing spaces. Widths count bytes; cells are ASCII.
class TextTable {
 public:
  // Adds a row of cells; missing ones are empty.
  void row(std::vector<std::string> cells);
  // Adds a line that does not widen any column, or a blank line if `text` is empty.
  void heading(std::string text);
  // Adds a line of dashes.
  void rule();

  [[nodiscard]] std::string text() const;

 private:
  enum class Kind { row, heading, rule };
  struct Line {
    Kind kind;
    std::vector<std::string> cells;
  };
  std::vector<Line> lines_;
};

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0 if the text is not valid UTF-8 at this character
};

// The first character of the string, which must not be empty.
[[nodiscard]] Character first_character(std::string_view text);

// Whether a terminal or a layout acts on the character instead of showing it: control characters,
// marks that change the direction of text, and line and paragraph separators.
[[nodiscard]] bool is_obeyed(std::uint32_t code);

// The string with U+FFFD in place of each byte that is not UTF-8.
[[nodiscard]] std::string valid_utf8(std::string_view text);

// Makes a foreign string (a name, a command, a mount point) safe to print within a line. Characters
// that a terminal would obey (is_obeyed) and bytes that are not UTF-8 become "\n", "\t", "\r" or
// "\xHH" byte by byte. Other characters stay as they are.
[[nodiscard]] std::string escape(std::string_view text);

// Like escape(), but keeps newlines.
[[nodiscard]] std::string escape_lines(std::string_view text);

// A foreign string for a message or a displayed name: at most `limit` bytes, with '?' for each byte
// that is not printable ASCII.
[[nodiscard]] inline std::string printable(std::string_view text, std::size_t limit = 64) {
  std::string out(text.substr(0, limit));
  for (char& c : out)
    if (c < ' ' || c > '~') c = '?';
  return out;
}

// Functions for kernel output as users send it: pasted into a mail or saved by an editor.

// The text with its lines ended by "\n", and without a leading byte order mark.
[[nodiscard]] inline std::string unix_lines(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || (i + 1 < text.size() && text[i + 1] != '\n')) out += text[i];
  return out;
}

// The line without leading and trailing blanks.
[[nodiscard]] constexpr std::string_view trim(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  const auto first = line.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(kBlanks) - first + 1);
}

// Quotes a string for a shell, with single quotes.
[[nodiscard]] inline std::string shell_quote(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

// Like shell_quote(), but without quotes if a shell does not need them.
[[nodiscard]] inline std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";
  const bool plain = !text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos;
  return plain ? std::string(text) : shell_quote(text);
}

}  // namespace e4r
