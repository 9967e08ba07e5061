// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocator/search.h"

#include <algorithm>

namespace e4r::allocator {

void ReadAhead::begin(std::uint32_t group) {
  next_ = group;
  if (rules_.forgotten_by_next_rung) count_ = 0;
}

bool ReadAhead::pending() const {
  const state::FsState& state = search_.state;
  if (!rules_.reads) return false;
  if (state.groups_unread() > 0) return true;
  return rules_.without_reads && state.groups_loaded() < state.group_count();
}

void ReadAhead::at(std::uint32_t at, bool fast) {
  if (!rules_.reads || next_ != at || search_.trial) return;
  if (fast && reads_ >= search_.tunables.mb_prefetch_limit) return;
  if (rules_.every_batch) finish();
  state::FsState& state = search_.state;
  const state::MountedGeometry& geometry = state.geometry();
  const std::uint64_t reads_before = reads_;
  const std::uint32_t count = prefetch_batch(search_.tunables, geometry, at);
  // After one round of all groups, read-ahead has nothing left to load.
  const std::uint32_t groups = state.group_count();
  std::uint32_t number = at;
  for (std::uint32_t i = 0; i < std::min(count, groups); ++i) {
    state::Group& group = state.group(number);
    const bool uninit = geometry.desc_csum && group.block_uninit;
    if (state.mark_read(group) && group.need_init && group.disk_free > 0 && !group.corrupt &&
        !uninit)
      ++reads_;
    if (++number >= groups) number = 0;
  }
  next_ = count < groups ? number : (at + count % groups) % groups;
  end_ = next_;
  count_ = reads_ == reads_before && !rules_.without_reads ? 0 : count;
}

void ReadAhead::finish() {
  state::FsState& state = search_.state;
  const state::MountedGeometry& geometry = state.geometry();
  // A kernel that finishes only the last batch goes backwards from the group where the last
  // criterion started, unless that criterion itself has read a batch.
  std::uint32_t number = rules_.every_batch ? end_ : next_;
  count_ = std::min(count_, state.group_count());
  for (; count_ > 0; --count_) {
    const std::uint32_t previous = number == 0 ? state.group_count() - 1 : number - 1;
    const state::Group& judged = state.group(rules_.by_own_descriptor ? previous : number);
    const bool skip_uninit = !rules_.uninit && geometry.desc_csum && judged.block_uninit;
    if (judged.disk_free > 0 && !skip_uninit) search_.load(previous);
    number = previous;
  }
}

}  // namespace e4r::allocator
