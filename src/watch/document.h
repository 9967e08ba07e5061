// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "results/rows.h"
#include "watch/names.h"
#include "watch/shown_figures.h"
#include "watch/watcher.h"

namespace e4r::watch {

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
