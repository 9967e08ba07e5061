// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/decision.h"

namespace e4r::replay {

// What each request of a run came to, 16 bytes each: two runs of the same trace are held against
// each other, and where they part a second run writes the decision down.
class DecisionLog {
 public:
  struct Entry {
    std::uint64_t decision;  // of the trace, counted from 1: further requests have the same
    std::uint64_t digest;    // of what its closing event would show
  };
  // As EngineOptions::write_down; none: no request is written down.
  explicit DecisionLog(std::optional<std::uint64_t> write_down = {}) : write_down_(write_down) {}

  void add(std::uint64_t decision, const allocator::Decision& made);

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  // describe() of the request that was to be written down; empty when there was none.
  [[nodiscard]] const std::string& text() const { return text_; }

  // The number of requests, counted from the first, that came to the same in both.
  [[nodiscard]] std::uint64_t alike(const DecisionLog& other) const;

 private:
  std::optional<std::uint64_t> write_down_;
  std::vector<Entry> entries_;
  std::string text_;
};

}  // namespace e4r::replay
