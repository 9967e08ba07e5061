// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/text_table.h"

#include <algorithm>
#include <numeric>

namespace e4r {
namespace {

constexpr std::size_t kGap = 2;

}  // namespace

void TextTable::row(std::vector<std::string> cells) {
  lines_.push_back({Kind::row, std::move(cells)});
}

void TextTable::heading(std::string text) {
  lines_.push_back({Kind::heading, {std::move(text)}});
}

void TextTable::rule() {
  lines_.push_back({Kind::rule, {}});
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths;
  for (const Line& line : lines_) {
    if (line.kind != Kind::row) continue;
    widths.resize(std::max(widths.size(), line.cells.size()), 0);
    for (std::size_t i = 0; i < line.cells.size(); ++i)
      widths[i] = std::max(widths[i], line.cells[i].size());
  }
  const std::size_t total = std::accumulate(widths.begin(), widths.end(), std::size_t{0}) +
                            (widths.empty() ? 0 : kGap * (widths.size() - 1));
  std::string out;
  for (const Line& line : lines_) {
    std::string text;
    if (line.kind == Kind::rule) text.assign(total, '-');
    if (line.kind == Kind::heading) text = line.cells.front();
    for (std::size_t i = 0; line.kind == Kind::row && i < line.cells.size(); ++i) {
      const std::string& cell = line.cells[i];
      const std::string pad(widths[i] - cell.size(), ' ');
      if (i > 0) text.append(kGap, ' ');
      text += i == 0 ? cell + pad : pad + cell;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  }
  return out;
}

}  // namespace e4r
