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
  ~Pretence();

  // From now on, only the walks of searches see the changes. When a search comes back for its best
  // extent, they are undone, and the next search begins with them again (FsState::begin_walk).
  void limit_to_walks();

  // Frees (`free`) or takes the clusters of a loaded group. Returns false and changes nothing if
  // some of them are not in the other state, or are not in the group.
  bool change(std::uint32_t group, std::uint32_t start, std::uint32_t count, bool free);
  [[nodiscard]] std::size_t changes() const { return changes_.size(); }
  // Undoes the last changes until at most `count` are left. Clusters that have been taken since
  // stay taken. A tree of groups gets its shape back once no change is left.
  void undo_to(std::size_t count);
  // Undoes all changes.
  void end();
  // Undoes all changes until resume() makes them again. Skips changes that are not possible then.
  void suspend();
  void resume();

 private:
  struct Change {
    FsState::GroupPlace place;     // before the change
    std::uint32_t first_free = 0;  // likewise
    std::uint32_t start = 0, count = 0;
    bool freed = false;
  };

  FsState& state_;
  std::vector<Change> changes_;
  std::vector<Change> suspended_;
  bool limited_ = false;           // to walks
  Pretence* outer_ = nullptr;      // the one that was limited to walks before
  std::optional<TreeShape> tree_;  // before the first change
};

}  // namespace e4r::state
