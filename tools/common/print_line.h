// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "util/escaped.h"

namespace e4r::tools {

// All that the tools print goes through here (test/lint.sh holds them to it). What cannot be
// written is no error here: guarded() looks whether standard output took all.

// Prints one line, which may hold anybody's text (names of files, labels, mount options): what a
// terminal would obey is escaped, and the line ends where it should.
template <class... A>
void print_line(std::FILE* to, fmt::format_string<A...> format, A&&... args) {
  const std::string line = escaped(fmt::format(format, std::forward<A>(args)...)) + "\n";
  std::fputs(line.c_str(), to);
}
template <class... A>
void print_line(fmt::format_string<A...> format, A&&... args) {
  print_line(stdout, format, std::forward<A>(args)...);
}

// Prints a text as it is: its maker has escaped what is anybody's in it.
inline void print_text(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

// Prints a report. Names in it are escaped where they stand, or they could add lines; whatever else
// a terminal would obey is escaped here.
inline void print_report(std::string_view text) {
  print_text(escaped_lines(text));
}

}  // namespace e4r::tools
