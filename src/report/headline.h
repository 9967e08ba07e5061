// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <vector>

#include "report/replay_report.h"

namespace e4r::report {

// A figure that says much of a replay, and how to put it into words: "searches take", "12.3 %",
// "fewer steps"; "as many steps" when nothing differs, or after "4.5 times".
struct HeadlineFigure {
  std::string label;
  std::string lead, fewer, more, same;
  std::vector<results::Value> values;  // of each column
  double luck = 0;                     // luck_of()
};

// The three that say most: what searches cost, in how many pieces files lie, how long free extents
// are.
[[nodiscard]] std::vector<HeadlineFigure> key_figures(const ReplayReport& report);

// A note about kernels that decided by file sizes and writers that the trace lacks; may be empty.
// Models use no more of them than the trace shows.
[[nodiscard]] std::string guesses_text(const ReplayReport& report);

// The key figures in words: each further policy against the first, or what the only one did. Then
// guesses_text().
[[nodiscard]] std::string headline(const ReplayReport& report);

// A sentence in lines for a terminal. What a no-break space joins stays together.
[[nodiscard]] std::string wrap(std::string_view sentence, std::size_t width = 80);

}  // namespace e4r::report
