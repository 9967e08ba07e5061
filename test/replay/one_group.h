// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "state/fs_state.h"
#include "support/model_look.h"

namespace e4r::test {

// A file system of one group of 4,096 clusters. All of them are free at first.
struct OneGroup {
  OneGroup() {
    geometry.groups = 1;
    geometry.block_bits = 12;
    geometry.blocks_per_group = geometry.clusters_per_group = 4096;
    geometry.blocks_count = 4096;
    words.assign(64, 0);
  }
  // Returns the line of mb_groups that the group would have if these runs were in use.
  state::MbGroup with(const std::vector<ClusterRange>& runs) {
    state::Source source;
    source.geometry = geometry;
    auto used = words;
    for (const auto& run : runs) state::bitmap::set_range(used, run.first, run.count);
    const std::uint32_t free = state::bitmap::count_clear(used, 4096);
    source.groups.push_back({used, free, free, false, false});
    state::FsState state(source, state::GroupIndex::none);
    state.load(0);
    return shown_of(state.group(0));
  }
  state::MountedGeometry geometry;
  std::vector<std::uint64_t> words;
};

}  // namespace e4r::test
