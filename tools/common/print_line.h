// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "util/text.h"

namespace e4r::tools {

// All output of the tools goes through these functions (test/lint.sh checks this). They do not
// report write errors: run_guarded() checks that all output was written.

// The errno of the first failed write to standard output, or 0. A later success does not clear it.
inline int& write_error() {
  static int error = 0;
  return error;
}
inline void note_write(bool ok, std::FILE* to) {
  if (!ok && to == stdout && write_error() == 0) write_error() = errno;
}

// Prints one line. The line may contain foreign text (file names, labels, mount options), so
// terminal control characters and line breaks in it are escaped.
template <class... A>
void print_line(std::FILE* to, fmt::format_string<A...> format, A&&... args) {
  const std::string line = escape(fmt::format(format, std::forward<A>(args)...)) + "\n";
  note_write(std::fputs(line.c_str(), to) >= 0, to);
}
template <class... A>
void print_line(fmt::format_string<A...> format, A&&... args) {
  print_line(stdout, format, std::forward<A>(args)...);
}

// Prints a string unchanged. The caller must have escaped foreign text in it.
inline void print_text(std::string_view text) {
  note_write(std::fwrite(text.data(), 1, text.size(), stdout) == text.size(), stdout);
}

// Prints a report. The caller must escape names in it, because they could contain line breaks. This
// function escapes all other terminal control characters.
inline void print_report(std::string_view text) {
  print_text(escape_lines(text));
}

}  // namespace e4r::tools
