// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "util/status.h"
#include "watch/document.h"
#include "watch/names.h"
#include "watch/watcher.h"

namespace e4r::watch {

// The style of a part of the page. A terminal without colours shows only attributes.
enum class Style : std::uint8_t { plain, title, heading, faint, warning, recorded, shadow };

struct Span {
  std::string text;  // UTF-8
  Style style = Style::plain;
};
// One line of the page.
using PageLine = std::vector<Span>;

// The order in which the costliest requests are sorted.
enum class SortBy : std::uint8_t { steps, groups, extents, time };
[[nodiscard]] SortBy next(SortBy sort);

// Keys that are not characters.
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

// The user's choices and the terminal's size.
struct PageView {
  unsigned columns = 80, rows = 24;
  bool ascii = false;  // the terminal shows only ASCII
  bool help = false;
  bool frozen = false;
  SortBy sort = SortBy::steps;
  ShownFigures figures = {};
  bool choosing = false;     // the list of figures is open
  std::size_t chosen = 0;    // the selected line of that list
  std::string message = {};  // the latest message, shown in the second line from the bottom
};

// Handles a key while the list of figures is open.
void on_list_key(PageView& view, int key);

// The full-screen page of a report: at most `rows` lines of at most `columns` characters. What does
// not fit is left out, from the bottom up. Names are looked up only where they are shown.
[[nodiscard]] std::vector<PageLine> page_lines(const Report& report, const PageView& view,
                                               Names& names);

// The number of columns that a string takes in a terminal of this locale (wcwidth()).
[[nodiscard]] std::size_t width_of(std::string_view text);
// The longest beginning of the string that fits in `columns`.
[[nodiscard]] std::string cut_to(std::string_view text, std::size_t columns);
// The longest end of the string that fits in `columns`; preceded by `mark` if anything was cut.
[[nodiscard]] std::string end_within(std::string_view text, std::size_t columns,
                                     std::string_view mark);

// A line of characters whose heights show the last `columns` values. The largest value has full
// height.
[[nodiscard]] std::string sparkline(const std::vector<double>& values, std::size_t columns,
                                    bool ascii);

// A full-screen page on the terminal of standard output, with keys from standard input. The
// destructor restores the terminal.
class Terminal {
 public:
  // The Error says why there is no page: this build or the terminal does not support it.
  [[nodiscard]] static Result<std::unique_ptr<Terminal>> open();
  virtual ~Terminal() = default;

  [[nodiscard]] virtual unsigned columns() const = 0;
  [[nodiscard]] virtual unsigned rows() const = 0;
  // Whether the terminal shows characters other than ASCII.
  [[nodiscard]] virtual bool speaks_utf8() const = 0;
  virtual void show(const std::vector<PageLine>& lines) = 0;
  // Waits for a key: an ASCII character or a PageKey. Returns 0 if no key came, and kResized if the
  // terminal's size has changed.
  [[nodiscard]] virtual int key(std::chrono::milliseconds most) = 0;
};

}  // namespace e4r::watch
