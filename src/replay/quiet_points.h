// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "replay/late_discards.h"
#include "trace/event.h"

namespace e4r::replay {

// Finds the points of a trace at which no allocation, no discard of preallocations
// and no commit is in progress.
class QuietPoints {
 public:
  // `notes_frees` says whether freed blocks of files can be allocated at once. If so, it matters
  // whether a thread is freeing a file's data.
  explicit QuietPoints(bool notes_frees) : notes_frees_(notes_frees) {}

  // Processes the next event of the trace. Returns whether the point right after it is quiet.
  bool see(const trace::Event& event);
  // Threads whose last ext4_free_blocks freed a regular file's data; empty unless `notes_frees`.
  [[nodiscard]] std::vector<std::uint32_t> freeing_data() const {
    return {freeing_data_.begin(), freeing_data_.end()};
  }

 private:
  void forget_unanswered();

  bool notes_frees_;
  bool committing_ = false;
  std::uint64_t number_ = 0;
  std::unordered_map<std::uint32_t, std::uint64_t>
      open_;  // by thread: number of the request's event
  std::unordered_set<std::uint32_t> freeing_data_;
  LateDiscards discards_;
};

}  // namespace e4r::replay
