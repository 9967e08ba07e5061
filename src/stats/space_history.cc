// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/space_history.h"

namespace e4r::stats {

void SpaceHistory::add(std::uint64_t decision, const state::FsState& state) {
  Frame frame;
  frame.decision = decision;
  for (std::uint32_t number = 0; number < now_.size(); ++number) {
    if (!state.group(number).own) continue;
    state.settled_words(number, words_);
    FreeChunkScan scan(state.geometry());
    scan.add(words_, state.geometry().clusters_in(number));
    const GroupFree now = scan.finish().groups.front();
    if (now == now_[number]) continue;
    now_[number] = now;
    frame.changes.push_back({number, now});
  }
  frames_.push_back(std::move(frame));
}

}  // namespace e4r::stats
