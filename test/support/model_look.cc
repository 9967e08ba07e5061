// SPDX-License-Identifier: GPL-2.0-or-later
#include "support/model_look.h"

#include <algorithm>

namespace e4r::test {

state::MbGroup shown_of(const state::Group& group) {
  state::MbGroup out;
  out.number = group.number;
  out.free = group.free;
  out.fragments = group.fragments;
  out.first_free = group.first_free;
  std::copy_n(group.counters.begin(), out.counters.size(), out.counters.begin());
  return out;
}

ModelLook::ModelLook(state::FsState& state, const std::vector<BlockRange>& metadata) {
  source_.geometry = state.geometry();
  source_.metadata = metadata;
  words_.resize(state.group_count());
  for (std::uint32_t number = 0; number < state.group_count(); ++number) {
    state.load(number);
    const state::Group& group = state.group(number);
    state.settled_words(number, words_[number]);
    if (group.corrupt) std::fill(words_[number].begin(), words_[number].end(), ~0ull);
    const std::uint32_t free =
        state::bitmap::count_clear(words_[number], source_.geometry.clusters_per_group);
    if (!group.corrupt) hidden_ += free - group.free;
    source_.groups.push_back({words_[number], free, free, false, group.corrupt});
    shown_.push_back(shown_of(group));
  }
}

}  // namespace e4r::test
