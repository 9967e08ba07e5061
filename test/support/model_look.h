// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "state/fs_state.h"
#include "state/group.h"

namespace e4r::test {

// Returns the group's line in mb_groups.
[[nodiscard]] state::MbGroup shown_of(const state::Group& group);

// A mounted file system as a recorder sees it: mb_groups and the image. Clusters that are in use
// only in memory are free in the image.
class ModelLook {
 public:
  // Loads every group of the state, like a read of mb_groups.
  ModelLook(state::FsState& state, const std::vector<BlockRange>& metadata);
  ModelLook(ModelLook&&) = default;
  ModelLook& operator=(ModelLook&&) = default;

  [[nodiscard]] const state::Source& source() const { return source_; }
  [[nodiscard]] const std::vector<state::MbGroup>& shown() const { return shown_; }
  // Clusters that are free in the image but in use in mb_groups.
  [[nodiscard]] std::uint64_t hidden() const { return hidden_; }

 private:
  state::Source source_;
  std::vector<std::vector<std::uint64_t>> words_;
  std::vector<state::MbGroup> shown_;
  std::uint64_t hidden_ = 0;
};

}  // namespace e4r::test
