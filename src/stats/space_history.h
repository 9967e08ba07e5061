// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "state/fs_state.h"
#include "stats/free_chunks.h"

namespace e4r::stats {

// The groups' free space over the course of a replay, counted as in settled_free(). The first frame
// holds the groups that differ from the start image, each later one those that differ from the
// previous frame.
class SpaceHistory {
 public:
  struct Change {
    std::uint32_t group = 0;
    GroupFree now;
  };
  struct Frame {
    std::uint64_t decision = 0;  // the number of the decision before this frame
    std::vector<Change> changes;
  };

  SpaceHistory() = default;
  // `start` holds every group of the start image.
  explicit SpaceHistory(std::vector<GroupFree> start) : now_(std::move(start)) {}

  // Restores a recorded history.
  explicit SpaceHistory(std::vector<Frame> frames) : frames_(std::move(frames)) {}

  // Adds a frame; decisions must ascend. Reads the bitmaps of all groups changed since the start.
  void add(std::uint64_t decision, const state::FsState& state);

  [[nodiscard]] const std::vector<Frame>& frames() const { return frames_; }

 private:
  std::vector<GroupFree> now_;
  std::vector<Frame> frames_;
  std::vector<std::uint64_t> words_;  // scratch
};

}  // namespace e4r::stats
