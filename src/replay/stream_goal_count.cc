// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/stream_goal_count.h"

#include <algorithm>
#include <vector>

namespace e4r::replay {
namespace {

constexpr std::uint32_t kMostTried = 256;

// The searches explained if there were `last.size()` goals.
struct Guess {
  std::vector<std::uint32_t> last;  // group in which the last search of each goal ended
  std::uint64_t explained = 0;

  void see(const trace::Event& e) {
    std::uint32_t& goal = last[static_cast<std::uint32_t>(e.ino) % last.size()];
    explained += e.goal_ex.group == goal;
    if (e.result.len > 0) goal = e.result.group;
  }
};

}  // namespace

Result<StreamGoalCount> count_stream_goals(trace::EventSource& events, std::uint32_t groups) {
  std::vector<Guess> guesses(std::clamp((groups + 3) / 4, 1u, kMostTried));
  for (std::size_t i = 0; i < guesses.size(); ++i) guesses[i].last.assign(i + 1, 0);
  StreamGoalCount out;
  for (;;) {
    E4R_TRY(const auto batch, events.next());
    if (batch.empty()) break;
    for (const trace::Event& e : batch) {
      if (e.kind != trace::EventKind::mballoc_alloc || (e.flags & mb::stream_alloc) == 0) continue;
      ++out.searches;
      for (Guess& guess : guesses) guess.see(e);
    }
  }
  if (out.searches == 0) return out;
  const auto best =
      std::max_element(guesses.begin(), guesses.end(),
                       [](const Guess& a, const Guess& b) { return a.explained < b.explained; });
  out.goals = static_cast<std::uint32_t>(best->last.size());
  out.explained = best->explained;
  return out;
}

}  // namespace e4r::replay
