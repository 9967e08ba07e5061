// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace e4r {

// A table for a terminal: the first column left-aligned, the others right-aligned, two blanks
// between columns, no trailing blanks. Widths count bytes; cells are ASCII.
class TextTable {
 public:
  // A row of cells; missing ones are empty.
  void row(std::vector<std::string> cells);
  // A line of its own that does not widen any column; empty: a blank line.
  void heading(std::string text);
  // A line of dashes.
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

}  // namespace e4r
