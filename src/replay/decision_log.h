// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <map>
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
  // As EngineOptions::write_down.
  explicit DecisionLog(const std::vector<std::uint64_t>& write_down = {}) {
    for (const std::uint64_t entry : write_down) texts_[entry];
  }

  void add(std::uint64_t decision, const allocator::Decision& made);

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  // describe() of an entry that was to be written down; empty when there was none of that number.
  [[nodiscard]] std::string text(std::uint64_t entry) const {
    const auto found = texts_.find(entry);
    return found == texts_.end() ? std::string() : found->second;
  }

  // The number of requests, counted from the first, that came to the same in both.
  [[nodiscard]] std::uint64_t alike(const DecisionLog& other) const;

 private:
  std::vector<Entry> entries_;
  std::map<std::uint64_t, std::string> texts_;  // by entry: those that are to be written down
};

}  // namespace e4r::replay
