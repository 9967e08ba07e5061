// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "report/replay_report.h"

namespace e4r::report {

// What the page's script draws (html/replay.js), by script_json(). File systems of more than
// kMostCells groups are summed up in as many cells.
inline constexpr std::size_t kMostCells = 4096;
[[nodiscard]] std::string html_data(const ReplayReport& report);

}  // namespace e4r::report
