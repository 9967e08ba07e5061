// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "trace/event.h"

namespace e4r::replay {

// Finds the places in a trace at which no allocation and no commit is under way.
class QuietPoints {
 public:
  // `notes_frees`: whether freed blocks of files are usable at once, so that it matters what a
  // thread is freeing.
  explicit QuietPoints(bool notes_frees) : notes_frees_(notes_frees) {}

  // The next event of the trace. Returns whether it is quiet right behind it.
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
  std::unordered_map<std::uint32_t, std::uint64_t> open_;  // by thread: the request's event
  std::unordered_set<std::uint32_t> freeing_data_;
};

}  // namespace e4r::replay
