// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "state/fs_state.h"

namespace e4r::state {

// Temporary changes of which clusters are free. end() and the destructor undo them.
class Pretence {
 public:
  // `state` must outlive the object.
  explicit Pretence(FsState& state) : state_(state) {}
  Pretence(const Pretence&) = delete;
  Pretence& operator=(const Pretence&) = delete;
  ~Pretence() { end(); }

  // Frees (`free`) or takes the clusters of a loaded group. Returns false and changes nothing if
  // some of them are not in the other state, or are not in the group.
  bool change(std::uint32_t group, std::uint32_t start, std::uint32_t count, bool free);
  [[nodiscard]] std::size_t changes() const { return changes_.size(); }
  // Undoes the last changes until at most `count` are left. Clusters that have been taken since
  // stay taken. A tree of groups gets its shape back once no change is left.
  void undo_to(std::size_t count);
  // Undoes all changes.
  void end() { undo_to(0); }

 private:
  struct Change {
    FsState::GroupPlace place;     // before the change
    std::uint32_t first_free = 0;  // likewise
    std::uint32_t start = 0, count = 0;
    bool freed = false;
  };

  FsState& state_;
  std::vector<Change> changes_;
  std::optional<TreeShape> tree_;  // before the first change
};

}  // namespace e4r::state
