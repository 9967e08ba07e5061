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

// Groups considered and extents examined, by requests.
[[nodiscard]] results::Value steps_per_request(const results::Outcome& run);

// The three that say most: what searches cost, in how many pieces files lie, how long free extents
// are.
[[nodiscard]] std::vector<HeadlineFigure> key_figures(const ReplayReport& report);

// A note about kernels that decided by file sizes and writers that the trace lacks; may be empty.
// Models use no more of them than the trace shows.
[[nodiscard]] std::string guesses_text(const ReplayReport& report);

// The key figures in words: each further policy against the first, or what the only one did. Then
// guesses_text().
[[nodiscard]] std::string headline(const ReplayReport& report);

// Why the policies' figures are as they are: at most two sentences each (app/causes.h). Policies
// with the same sentences are told together. Empty without Outcome::why.
struct WhyText {
  std::string policies;  // "linux-6.12.77 and linux-7.3"
  std::string text;
};
[[nodiscard]] std::vector<WhyText> why_texts(const ReplayReport& report);

// The sentence with plain spaces in place of no-break ones.
[[nodiscard]] std::string with_plain_spaces(std::string_view sentence);

// A sentence in lines for a terminal. What a no-break space joins stays together.
[[nodiscard]] std::string wrap(std::string_view sentence, std::size_t width = 80);

}  // namespace e4r::report
