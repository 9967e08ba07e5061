// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/page.h"

#define NCURSES_NOMACROS 1
#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace e4r::watch {
namespace {

// How long to wait for the rest of an arrow key. A lone Escape is recognised after this time.
constexpr int kEscapeMs = 100;

class NcursesTerminal final : public Terminal {
 public:
  explicit NcursesTerminal(SCREEN* screen) : screen_(screen) {
    ::cbreak();
    ::noecho();
    ::nonl();
    ::keypad(stdscr, true);
    ::set_escdelay(kEscapeMs);
    ::curs_set(0);
    begin_colours();
  }
  NcursesTerminal(const NcursesTerminal&) = delete;
  NcursesTerminal& operator=(const NcursesTerminal&) = delete;
  ~NcursesTerminal() override {
    ::endwin();
    ::delscreen(screen_);
  }

  [[nodiscard]] unsigned columns() const override { return static_cast<unsigned>(COLS); }
  [[nodiscard]] unsigned rows() const override { return static_cast<unsigned>(LINES); }
  [[nodiscard]] bool speaks_utf8() const override {
    return std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
  }

  void show(const std::vector<PageLine>& lines) override {
    ::erase();
    for (std::size_t row = 0; row < lines.size(); ++row) {
      ::move(static_cast<int>(row), 0);
      for (const Span& span : lines[row]) {
        ::attrset(attributes_of(span.style));
        ::addstr(span.text.c_str());
      }
    }
    ::attrset(A_NORMAL);
    ::refresh();
  }

  [[nodiscard]] int key(std::chrono::milliseconds most) override {
    ::timeout(static_cast<int>(most.count()));
    const int got = ::getch();
    for (const auto& [key, of_curses] : kKeys)
      if (got == of_curses) return key;
    return got == ERR || got > 127 ? 0 : got;
  }

 private:
  static constexpr std::array<std::pair<PageKey, int>, 7> kKeys = {{{kResized, KEY_RESIZE},
                                                                    {kUp, KEY_UP},
                                                                    {kDown, KEY_DOWN},
                                                                    {kPageUp, KEY_PPAGE},
                                                                    {kPageDown, KEY_NPAGE},
                                                                    {kHome, KEY_HOME},
                                                                    {kEnd, KEY_END}}};

  enum Pair : short { kRecorded = 1, kShadow, kWarning };

  void begin_colours() {
    const char* const wanted = std::getenv("NO_COLOR");
    if ((wanted != nullptr && *wanted != '\0') || !::has_colors()) return;
    colours_ = ::start_color() == OK && ::use_default_colors() == OK;
    if (!colours_) return;
    ::init_pair(kRecorded, COLOR_CYAN, -1);
    ::init_pair(kShadow, COLOR_GREEN, -1);
    ::init_pair(kWarning, COLOR_RED, -1);
  }

  [[nodiscard]] attr_t attributes_of(Style style) const {
    const auto colour = [this](Pair pair, attr_t without) {
      return colours_ ? static_cast<attr_t>(COLOR_PAIR(pair)) : without;
    };
    switch (style) {
      case Style::title:
        return A_REVERSE;
      case Style::heading:
        return A_BOLD;
      case Style::faint:
        return A_DIM;
      case Style::warning:
        return colour(kWarning, A_NORMAL) | A_BOLD;
      case Style::recorded:
        return colour(kRecorded, A_NORMAL);
      case Style::shadow:
        return colour(kShadow, A_NORMAL);
      case Style::plain:
        break;
    }
    return A_NORMAL;
  }

  SCREEN* screen_;
  bool colours_ = false;
};

}  // namespace

Result<std::unique_ptr<Terminal>> Terminal::open() {
  const char* const kind = std::getenv("TERM");
  if (kind == nullptr || std::string_view(kind) == "dumb" || std::string_view(kind).empty())
    return error("TERM names no terminal that can show a page");
  ::setlocale(LC_CTYPE, "");
  SCREEN* const screen = ::newterm(nullptr, stdout, stdin);
  if (screen == nullptr) return error("TERM={}: unknown terminal", kind);
  return std::unique_ptr<Terminal>(std::make_unique<NcursesTerminal>(screen));
}

}  // namespace e4r::watch
