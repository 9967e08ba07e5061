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

// The JSON document of a report (schema e4replay-watch/1). Without names, those are null.
[[nodiscard]] boost::json::value report_json(const Report& report, Names* names = nullptr);

// A figure for people: no fraction from 100 on.
[[nodiscard]] std::string figure_text(const results::Value& value);

// Reports as lines of a table that goes on: one line for each column, with figures over the time
// since the line before.
class ReportLines {
 public:
  explicit ReportLines(ShownFigures figures = {}) : figures_(std::move(figures)) {}

  // The lines above the table.
  [[nodiscard]] std::string head(const Report& report) const;
  // Empty if nothing was followed yet.
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
