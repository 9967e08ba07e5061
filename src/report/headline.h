// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <vector>

#include "report/replay_report.h"

namespace e4r::report {

// A key figure of a replay, and the words for a sentence about it. For a difference of 12.3 % the
// sentence consists of `lead`, the number and `fewer` or `more`: "searches take 12.3 % fewer
// steps". If nothing differs, or after a factor such as "4.5 times", it uses `same`: "as many
// steps".
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

// Returns a note about requests for which the trace lacks the file size or the writers. A kernel's
// code needs these, so values were chosen. Empty if the trace lacks none of them. Models need no
// note, because they use only what the trace shows.
[[nodiscard]] std::string guesses_text(const ReplayReport& report);

// The key figures in words: a comparison of each further policy with the first, or the figures of
// the only policy. Ends with guesses_text() and doubt_text().
[[nodiscard]] std::string headline(const ReplayReport& report);

// Explains the policies' figures by their causes (app/causes.h), with at most two sentences for
// each policy. Policies with the same sentences share an entry. Empty without Outcome::why.
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
