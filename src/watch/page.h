// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "watch/names.h"
#include "watch/shown_figures.h"
#include "watch/watcher.h"

namespace e4r::watch {

// How a part of the page looks. A terminal without colours shows attributes alone.
enum class Style : std::uint8_t { plain, title, heading, faint, warning, recorded, shadow };

struct Span {
  std::string text;  // UTF-8
  Style style = Style::plain;
};
// One line of the page.
using PageLine = std::vector<Span>;

// By what the requests that took most are sorted.
enum class SortBy : std::uint8_t { steps, groups, extents, time };
[[nodiscard]] SortBy next(SortBy sort);

// Keys that are no characters.
enum PageKey : int {
  kResized = -1,
  kUp = -2,
  kDown = -3,
  kPageUp = -4,
  kPageDown = -5,
  kHome = -6,
  kEnd = -7,
};
inline constexpr int kEscape = 27;

// What the user has chosen, and the terminal's size.
struct PageView {
  unsigned columns = 80, rows = 24;
  bool ascii = false;  // the terminal shows ASCII alone
  bool help = false;
  bool frozen = false;
  SortBy sort = SortBy::steps;
  ShownFigures figures = {};
  bool choosing = false;     // the list of figures is open
  std::size_t chosen = 0;    // the line of the list that the next key is for
  std::string message = {};  // the last one, for the second line from below
};

// A key while the list of figures is open.
void on_list_key(PageView& view, int key);

// The full-screen page of a report: at most `rows` lines of at most `columns` characters. What
// finds no room is left out, from below. Names are asked for where they are shown.
[[nodiscard]] std::vector<PageLine> page_lines(const Report& report, const PageView& view,
                                               Names& names);

// The number of columns that a text takes in a terminal of this locale (wcwidth()).
[[nodiscard]] std::size_t width_of(std::string_view text);
// As much of its beginning as has room in so many.
[[nodiscard]] std::string cut_to(std::string_view text, std::size_t columns);
// As much of its end, behind `mark` if it is cut.
[[nodiscard]] std::string end_within(std::string_view text, std::size_t columns,
                                     std::string_view mark);

// A line of signs whose heights are the last `columns` values, the largest being full height.
[[nodiscard]] std::string sparkline(const std::vector<double>& values, std::size_t columns,
                                    bool ascii);

}  // namespace e4r::watch
