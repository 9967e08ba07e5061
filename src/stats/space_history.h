// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "state/fs_state.h"
#include "stats/free_chunks.h"

namespace e4r::stats {

// Free space of the groups in the course of a replay, by the count of settled_free(). Each frame
// has the groups that differ from the frame before it, the first from the start image.
class SpaceHistory {
 public:
  struct Change {
    std::uint32_t group = 0;
    GroupFree now;
  };
  struct Frame {
    std::uint64_t decision = 0;  // after this one
    std::vector<Change> changes;
  };

  SpaceHistory() = default;
  // `start`: of every group of the start image.
  explicit SpaceHistory(std::vector<GroupFree> start) : now_(std::move(start)) {}

  // One that was taken down before.
  explicit SpaceHistory(std::vector<Frame> frames) : frames_(std::move(frames)) {}

  // A frame; decisions come in ascending order. Reads the bitmaps of all groups that were changed.
  void add(std::uint64_t decision, const state::FsState& state);

  [[nodiscard]] const std::vector<Frame>& frames() const { return frames_; }

 private:
  std::vector<GroupFree> now_;
  std::vector<Frame> frames_;
  std::vector<std::uint64_t> words_;  // scratch
};

}  // namespace e4r::stats
