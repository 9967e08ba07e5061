// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/json/fwd.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/rows.h"
#include "util/status.h"
#include "watch/names.h"
#include "watch/watcher.h"

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

// The JSON document of a report (schema e4replay-watch/1). If `names` is null, the names in the
// document are null.
[[nodiscard]] boost::json::value report_json(const Report& report, Names* names = nullptr);

// Formats a figure for people to read. It has no fraction if it is 100 or more.
[[nodiscard]] std::string figure_text(const results::Value& value);

// Prints reports as lines of a growing table: one line for each column, with figures over the time
// since the previous line.
class ReportLines {
 public:
  explicit ReportLines(ShownFigures figures = {}) : figures_(std::move(figures)) {}

  // The heading of the table.
  [[nodiscard]] std::string head(const Report& report) const;
  // Empty if nothing has been followed yet.
  [[nodiscard]] std::string lines(const Report& report);

 private:
  struct Before {
    results::Outcome outcome;  // since the start image
    unsigned starts = 0, attempts = 0;
  };
  ShownFigures figures_;
  std::map<std::string, Before> before_;  // by column
};

}  // namespace e4r::watch
