// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/rows.h"
#include "util/status.h"

namespace e4r::watch {

// Where figures are shown. The page has less room for titles.
enum class ShownIn : std::uint8_t { page, lines };

// The title of a figure's column, and the column's width.
struct FigureTitle {
  std::string text;
  std::size_t width = 0;
};
[[nodiscard]] FigureTitle title_of(const results::Row& row, ShownIn where);

// The figures that the page and the lines show for each allocator, in order. Each is a row of the
// table of figures of `watch`.
class ShownFigures {
 public:
  // The default figures.
  ShownFigures();
  // Parses keys separated by commas. The Error names the wrong key and lists all valid ones.
  [[nodiscard]] static Result<ShownFigures> parse(std::string_view keys);

  [[nodiscard]] std::span<const results::Row* const> rows() const { return rows_; }
  [[nodiscard]] bool has(const results::Row& row) const;
  // Removes the figure if it is shown. Otherwise adds it in front of the others, where it always
  // fits.
  void toggle(const results::Row& row);

 private:
  std::vector<const results::Row*> rows_;
};

}  // namespace e4r::watch
