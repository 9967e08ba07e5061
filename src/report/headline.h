// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <vector>

#include "report/replay_report.h"

namespace e4r::report {

// A key figure of a replay, and the words for it: "searches take", "12.3 %", "fewer steps"; "as
// many steps" if nothing differs, or after "4.5 times".
struct HeadlineFigure {
  std::string label;
  std::string lead, fewer, more, same;
  std::vector<results::Value> values;  // by column
  double luck = 0;                     // luck_of()
};

// The number of groups considered and extents examined, divided by the number of requests.
[[nodiscard]] results::Value steps_per_request(const results::Outcome& run);

// The three key figures: the cost of searches, the number of pieces per file, the length of free
// extents.
[[nodiscard]] std::vector<HeadlineFigure> key_figures(const ReplayReport& report);

// A note about kernels that decided by file sizes and writers which the trace lacks; may be empty.
// Models use no more of them than the trace shows.
[[nodiscard]] std::string guesses_text(const ReplayReport& report);

// The key figures in words: a comparison of each further policy with the first, or the figures of
// the only one. guesses_text() follows.
[[nodiscard]] std::string headline(const ReplayReport& report);

// Why the policies' figures are as they are: at most two sentences for each policy (app/causes.h).
// Policies with the same sentences share an entry. Empty without Outcome::why.
struct WhyText {
  std::string policies;  // "linux-6.12.77 and linux-7.3"
  std::string text;
};
[[nodiscard]] std::vector<WhyText> why_texts(const ReplayReport& report);

// Replaces no-break spaces by plain spaces.
[[nodiscard]] std::string with_plain_spaces(std::string_view sentence);

// Breaks a sentence into lines for a terminal. Words joined by a no-break space stay together.
[[nodiscard]] std::string wrap(std::string_view sentence, std::size_t width = 80);

}  // namespace e4r::report
