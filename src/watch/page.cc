// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/page.h"

#include <wchar.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>

#include "report/space_picture.h"
#include "results/rows.h"
#include "util/text.h"
#include "util/units.h"
#include "watch/document.h"

namespace e4r::watch {
namespace {

constexpr std::size_t kNameWidth = 14, kProcessWidth = 19;

// "4 min", rounded up.
std::string time_text(double seconds) {
  constexpr double kMinute = 60, kHour = 3600, kDay = 86400;
  if (seconds <= 2 * kMinute) return fmt::format("{:.0f} s", std::ceil(seconds));
  if (seconds <= 2 * kHour) return fmt::format("{:.0f} min", std::ceil(seconds / kMinute));
  if (seconds <= 2 * kDay) return fmt::format("{:.0f} h", std::ceil(seconds / kHour));
  return fmt::format("{:.0f} days", std::ceil(seconds / kDay));
}

// The description in the list of figures: the row's section and its label.
std::string meaning_of(const results::Row& row) {
  std::string label(trim(row.label));
  if (row.section.empty()) return label;
  return label.empty() ? row.section : row.section + ": " + label;
}

std::string padded(std::string text, std::size_t width) {
  text = cut_to(text, width);
  text.append(width - width_of(text), ' ');
  return text;
}

class Page {
 public:
  Page(const Report& report, const PageView& view, Names& names)
      : report_(report), view_(view), names_(names) {
    if (report.picture) picture_ = report.picture.get();
  }

  std::vector<PageLine> lines() {
    head();
    if (view_.help) {
      help();
    } else if (view_.choosing) {
      figures();
    } else if (picture_ == nullptr || picture_->columns.empty()) {
      add({{"Waiting for the first figures.", Style::faint}});
    } else {
      body();
    }
    foot();
    return std::move(lines_);
  }

 private:
  // The number of free lines. The last line is reserved for the foot.
  [[nodiscard]] std::size_t room() const {
    const std::size_t most = view_.rows > 1 ? view_.rows - 1 : 0;
    return most - std::min(most, lines_.size());
  }

  void add(PageLine line) {
    if (room() == 0) return;
    std::size_t left = view_.columns;
    PageLine fits;
    for (Span& span : line) {
      span.text = cut_to(safe(span.text), left);
      left -= width_of(span.text);
      fits.push_back(std::move(span));
    }
    lines_.push_back(std::move(fits));
  }
  // Escapes foreign text for this terminal.
  [[nodiscard]] std::string safe(const std::string& text) const {
    std::string escaped = escape(text);
    if (!view_.ascii) return escaped;
    std::string out;
    for (const char c : escaped) {
      const auto byte = static_cast<unsigned char>(c);
      out += byte < 0x80 ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
    }
    return out;
  }
  void heading(const std::string& text) { add({{text, Style::heading}}); }

  static Style style_of(std::size_t column) {
    return column == 0 ? Style::recorded : Style::shadow;
  }

  void head() {
    add({{padded(fmt::format(" {} ({})  Linux {}  {}", report_.mount_point, report_.device_name,
                             report_.kernel, report_.time),
                 view_.columns),
          Style::title}});
    if (!report_.follows) {
      add({{"There is no start image: trying again.", Style::warning}});
    } else {
      const std::uint64_t decisions = picture_ == nullptr ? 0 : picture_->decisions;
      const std::uint64_t identical = picture_ == nullptr ? 0 : picture_->identical;
      PageLine line = {{fmt::format("{} of {} decisions identical", format_count(identical),
                                    format_count(decisions)),
                        identical == decisions ? Style::plain : Style::warning},
                       {fmt::format(", {:.1f} s behind, ", report_.behind_s), Style::plain},
                       {fmt::format("{} events lost", format_count(report_.lost)),
                        report_.lost == 0 ? Style::plain : Style::warning}};
      if (picture_ != nullptr && picture_->check)
        line.push_back({fmt::format(", mb_groups: {} of {} differ",
                                    format_count(picture_->check->differing.size()),
                                    format_count(picture_->check->compared)),
                        picture_->check->differing.empty() ? Style::plain : Style::warning});
      add(std::move(line));
    }
    if (report_.lazy_init && report_.lazy_init->groups_left > 0) lazy_init(*report_.lazy_init);
    if (!view_.message.empty()) add({{view_.message, Style::warning}});
  }

  void lazy_init(const LazyInitProgress& progress) {
    std::string text = fmt::format("lazy init: {} inode tables are not zeroed",
                                   format_count(progress.groups_left));
    if (!progress.runs)
      text += "; the mount has noinit_itable";
    else if (progress.groups_per_s)
      text += fmt::format(", {:.1f} a second, {} left", *progress.groups_per_s,
                          time_text(*progress.seconds_left()));
    add({{text, Style::plain}});
  }

  // Shows the keys in the terminal's last line.
  void foot() {
    while (room() > 0) lines_.emplace_back();
    std::string text = fmt::format(" q end  ? help  o columns  s sort  f {}  w save  c capture",
                                   view_.frozen ? "go on" : "freeze");
    if (view_.choosing && !view_.help) text = " q back  space show or hide  arrows move";
    lines_.push_back(
        {{cut_to(padded(text + (view_.frozen ? "   FROZEN" : ""), view_.columns), view_.columns),
          Style::title}});
  }

  void help() {
    for (const char* line :
         {"", "The first table has the figures of the last second, and the second one those of",
          "the last minute. \"recorded\" is the running kernel. The other rows are the",
          "allocators that -p names. They decide the same requests.", "",
          "  groups/req    groups that a request's search looked at, on average",
          "  extents/req   free extents that it examined",
          "  free ext, KB  average free extent now", "  ext/file      extents per file written", "",
          "  q, Ctrl-C     end", "  ?             show or hide this help",
          "  o             choose the columns of both tables",
          "  s             sort requests by steps, groups, extents or time",
          "  f             freeze the page, or continue",
          "  w             write the figures as JSON to a file in the working directory",
          "  c             write a capture of the last minutes (--keep)"})
      add({{line, Style::plain}});
  }

  // Shows the list of all figures. The table is above it if the terminal has room for both.
  void figures() {
    constexpr std::size_t kLeastList = 8;
    const auto rows = results::rows(results::Reporter::watch);
    if (picture_ != nullptr && room() > picture_->columns.size() + 2 + kLeastList)
      table("last second", Window::second);
    heading("Columns: those with an x are shown, if the terminal is wide enough");
    if (room() == 0) return;
    const std::size_t lines = std::min(room(), rows.size());
    const std::size_t chosen = std::min(view_.chosen, rows.size() - 1);
    const std::size_t first = std::min(chosen - std::min(chosen, lines / 2), rows.size() - lines);
    for (std::size_t i = first; i < first + lines; ++i)
      add({{padded(fmt::format("{} [{}] {:<21} {}", i == chosen ? '>' : ' ',
                               view_.figures.has(rows[i]) ? 'x' : ' ', rows[i].key,
                               meaning_of(rows[i])),
                   view_.columns),
            i == chosen ? Style::title : Style::plain}});
  }

  void body() {
    table("last second", Window::second);
    table("last minute", Window::minute);
    rates();
    criteria();
    const std::size_t for_costly = std::min<std::size_t>(room() / 2, 2 + picture_->costly.size());
    map(for_costly);
    costly();
  }

  // Returns how many of the chosen figures fit next to the name. Unless all fit, leaves room for
  // "+N".
  [[nodiscard]] std::size_t figures_that_fit() const {
    constexpr std::size_t kMark = 4;
    const auto rows = view_.figures.rows();
    std::size_t width = kNameWidth, out = 0;
    for (; out < rows.size(); ++out) {
      width += 1 + title_of(*rows[out], ShownIn::page).width;
      if (width + (out + 1 < rows.size() ? kMark : 0) > view_.columns) break;
    }
    return out;
  }

  void table(std::string_view title, Window window) {
    const auto all = view_.figures.rows();
    const auto rows = all.first(figures_that_fit());
    std::string head = padded(std::string(title), kNameWidth);
    for (const results::Row* row : rows) {
      const FigureTitle shown = title_of(*row, ShownIn::page);
      head += fmt::format(" {:>{}}", shown.text, shown.width);
    }
    if (rows.size() < all.size()) head += fmt::format(" +{}", all.size() - rows.size());
    heading(head);
    for (std::size_t i = 0; i < picture_->columns.size(); ++i) {
      const Column& column = picture_->columns[i];
      const auto& outcome = column.of(window);
      std::string figures;
      for (const results::Row* row : rows)
        figures += fmt::format(" {:>{}}", outcome ? figure_text(row->of(*outcome)) : "-",
                               title_of(*row, ShownIn::page).width);
      add({{padded(column.name, kNameWidth), style_of(i)}, {figures, Style::plain}});
    }
  }

  void rates() {
    constexpr std::size_t kFigure = 12;
    if (view_.columns < kNameWidth + kFigure + 10) return;
    const std::size_t width = view_.columns - kNameWidth - kFigure - 2;
    const auto line = [&](const std::string& name, Style style, const std::vector<Rates>& rates,
                          auto of) {
      std::vector<double> values;
      values.reserve(rates.size());
      for (const Rates& one : rates) values.push_back(of(one));
      const double most = values.empty() ? 0 : *std::ranges::max_element(values);
      add({{padded(name, kNameWidth), style},
           {" " + padded(sparkline(values, width, view_.ascii), width), style},
           {fmt::format(" {:>{}}", figure_text(most), kFigure), Style::faint}});
    };
    heading("requests/s, and groups/req of each; the highest value is on the right");
    line("requests/s", Style::recorded, picture_->columns.front().rates,
         [](const Rates& one) { return one.requests; });
    for (std::size_t i = 0; i < picture_->columns.size(); ++i) {
      const std::vector<Rates>& rates = picture_->columns[i].rates;
      if (!rates.empty() && !rates.back().groups) continue;  // a kernel that does not count groups
      line(picture_->columns[i].name, style_of(i), rates,
           [](const Rates& one) { return one.groups.value_or(0); });
    }
  }

  // Shows the searches of the last minute by the criterion that ended them, for the recorded kernel
  // and the first shadow.
  void criteria() {
    constexpr std::size_t kForTwo = 50;  // width from which a line shows both, in characters
    const std::size_t shown =
        std::min<std::size_t>(picture_->columns.size(), view_.columns < kForTwo ? 1 : 2);
    const std::size_t bar = view_.columns > 40 ? (view_.columns - 14) / shown - 9 : 10;
    std::vector<std::pair<std::string, std::array<double, 2>>> shares;
    std::array<double, 2> sums = {};
    for (const results::Row& row : results::rows(results::Reporter::watch)) {
      if (!row.key.starts_with("hits/")) continue;
      std::array<double, 2> hits = {};
      for (std::size_t i = 0; i < shown; ++i)
        if (const auto& outcome = picture_->columns[i].of(Window::minute))
          sums[i] += hits[i] = results::number_of(row.of(*outcome)).value_or(0);
      if (hits[0] + hits[1] > 0) shares.emplace_back(row.label, hits);
    }
    if (shares.empty()) return;
    heading("searches by criterion, last minute: recorded" +
            (shown > 1 ? fmt::format(", {}", picture_->columns[1].name) : ""));
    for (const auto& [label, hits] : shares) {
      PageLine line = {{padded(label, 12), Style::plain}};
      for (std::size_t i = 0; i < shown; ++i) {
        const double share = sums[i] == 0 ? 0 : hits[i] / sums[i];
        const auto length = static_cast<std::size_t>(std::ceil(share * static_cast<double>(bar)));
        std::string signs;
        for (std::size_t sign = 0; sign < length; ++sign) signs += view_.ascii ? "#" : "█";
        line.push_back({" " + padded(signs, bar), style_of(i)});
        line.push_back({fmt::format(" {:5.1f} %", 100 * share), Style::plain});
      }
      add(std::move(line));
    }
  }

  // Draws the map in at most six lines, and leaves at least `kept` lines of the page free. If there
  // are more cells than characters, a character stands for several cells.
  void map(std::size_t kept) {
    if (room() < kept + 2 || picture_->map.empty()) return;
    const std::size_t lines = std::min<std::size_t>(room() - kept - 1, 6);
    const std::size_t signs = std::min<std::size_t>(lines * view_.columns, picture_->map.size());
    heading("free space of the recorded kernel: the darker, the fuller");
    const report::TextForm form = {.columns = view_.columns, .ascii = view_.ascii};
    PageLine line = {{"", Style::recorded}};
    for (std::size_t sign = 0; sign < signs; ++sign) {
      stats::SpaceCell cell;
      for (std::size_t i = sign * picture_->map.size() / signs;
           i < (sign + 1) * picture_->map.size() / signs; ++i) {
        cell.blocks += picture_->map[i].blocks;
        cell.free_blocks += picture_->map[i].free_blocks;
        cell.longest = std::max(cell.longest, picture_->map[i].longest);
      }
      line.front().text += report::space_sign(cell, picture_->cluster_bits, form);
      if ((sign + 1) % view_.columns == 0 || sign + 1 == signs)
        add(std::exchange(line, {{"", Style::recorded}}));
    }
  }

  void costly() {
    if (room() < 2 || picture_->costly.empty()) return;
    std::vector<CostlyRequest> all = picture_->costly;
    const auto key = [this](const CostlyRequest& one) {
      switch (view_.sort) {
        case SortBy::groups:
          return one.groups();
        case SortBy::extents:
          return one.cost.extents;
        case SortBy::time:
          return one.time_ns;
        case SortBy::steps:
          break;
      }
      return one.steps();
    };
    std::ranges::stable_sort(all, std::greater<>(), key);
    constexpr std::array kNames = {"steps", "groups", "extents", "time"};
    const bool inodes = view_.columns >= 100;
    heading(fmt::format(
        "{} {:>7} {:>6} {:>7} {:>8}  {:<10}{} file",
        padded(fmt::format("costliest by {}", kNames[static_cast<std::size_t>(view_.sort)]),
               kProcessWidth),
        "pid", "groups", "extents", "clusters", "ended by", inodes ? "     inode" : ""));
    for (const CostlyRequest& one : all) {
      if (room() == 0) return;
      const std::string ended = one.criterion == mb::Criterion::unknown
                                    ? "goal"
                                    : std::string(mb::row_of(one.criterion).title);
      const std::string process = names_.process(one.pid);
      std::string line =
          fmt::format("{} {:>7} {:>6} {:>7} {:>8}  {:<10}",
                      padded(process.empty() ? "(gone)" : safe(process), kProcessWidth), one.pid,
                      one.groups(), one.cost.extents, one.clusters, ended);
      if (inodes) line += fmt::format(" {:>9}", one.ino);
      const std::size_t left =
          view_.columns - std::min<std::size_t>(view_.columns, width_of(line) + 1);
      add({{line + " " + file(one.ino, left), Style::plain}});
    }
  }

  // The end of the file's path below the mount point, or its inode number if the path is unknown.
  [[nodiscard]] std::string file(std::uint64_t ino, std::size_t columns) {
    std::string path = names_.file(ino);
    if (path.empty()) return fmt::format("inode {}", ino);
    const std::string below =
        report_.mount_point.ends_with('/') ? report_.mount_point : report_.mount_point + "/";
    if (path.starts_with(below)) path.erase(0, below.size());
    return end_within(safe(path), columns, view_.ascii ? "..." : "…");
  }

  const Report& report_;
  const PageView& view_;
  Names& names_;
  const Picture* picture_ = nullptr;
  std::vector<PageLine> lines_;
};

// The size of the character at a position: its bytes and its columns in the terminal. A byte that
// begins no character counts as one column.
struct Sign {
  std::size_t bytes = 1, columns = 1;
};
Sign sign_at(std::string_view text, std::size_t at) {
  const Character c = first_character(text.substr(at));
  if (c.bytes == 0) return {};
  const int columns = ::wcwidth(static_cast<wchar_t>(c.code));
  return {c.bytes, columns < 0 ? 1 : static_cast<std::size_t>(columns)};
}

}  // namespace

SortBy next(SortBy sort) {
  return sort == SortBy::time ? SortBy::steps
                              : static_cast<SortBy>(static_cast<std::uint8_t>(sort) + 1);
}

void on_list_key(PageView& view, int key) {
  constexpr std::size_t kPage = 10;
  const auto rows = results::rows(results::Reporter::watch);
  const std::size_t last = rows.size() - 1;
  const auto up = [&](std::size_t lines) { view.chosen -= std::min(view.chosen, lines); };
  const auto down = [&](std::size_t lines) { view.chosen = std::min(view.chosen + lines, last); };
  switch (key) {
    case 'q':
    case 'o':
    case kEscape:
      view.choosing = false;
      break;
    case ' ':
      view.figures.toggle(rows[view.chosen]);
      break;
    case kUp:
    case 'k':
      up(1);
      break;
    case kDown:
    case 'j':
      down(1);
      break;
    case kPageUp:
      up(kPage);
      break;
    case kPageDown:
      down(kPage);
      break;
    case kHome:
      view.chosen = 0;
      break;
    case kEnd:
      view.chosen = last;
      break;
    default:  // another key, or a resize
      break;
  }
}

std::size_t width_of(std::string_view text) {
  std::size_t out = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Sign sign = sign_at(text, at);
    out += sign.columns;
    at += sign.bytes;
  }
  return out;
}

std::string cut_to(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Sign sign = sign_at(text, at);
    if (sign.columns > columns) break;
    columns -= sign.columns;
    at += sign.bytes;
  }
  return std::string(text.substr(0, at));
}

std::string end_within(std::string_view text, std::size_t columns, std::string_view mark) {
  std::size_t width = width_of(text);
  if (width <= columns) return std::string(text);
  std::size_t at = 0;
  while (at < text.size() && width + width_of(mark) > columns) {
    const Sign sign = sign_at(text, at);
    width -= sign.columns;
    at += sign.bytes;
  }
  return cut_to(std::string(mark) + std::string(text.substr(at)), columns);
}

std::string sparkline(const std::vector<double>& values, std::size_t columns, bool ascii) {
  constexpr std::array<std::string_view, 9> kSigns = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<std::string_view, 9> kAscii = {" ", ".", ".", ":", "-", "=", "+", "*", "#"};
  const std::size_t from = values.size() - std::min(values.size(), columns);
  double most = 0;
  for (std::size_t i = from; i < values.size(); ++i) most = std::max(most, values[i]);
  std::string out;
  for (std::size_t i = from; i < values.size(); ++i) {
    const double share = most > 0 ? values[i] / most : 0;
    const auto height = static_cast<std::size_t>(std::ceil(share * 8));
    out += (ascii ? kAscii : kSigns)[std::min<std::size_t>(height, 8)];
  }
  return out;
}

std::vector<PageLine> page_lines(const Report& report, const PageView& view, Names& names) {
  return Page(report, view, names).lines();
}

}  // namespace e4r::watch
