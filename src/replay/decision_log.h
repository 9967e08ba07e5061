// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "allocator/decision.h"

namespace e4r::replay {

// The outcome of each request of a run, 16 bytes each. The logs of two runs of a trace show where
// they part; a second run then writes that decision down.
class DecisionLog {
 public:
  struct Entry {
    std::uint64_t decision;  // its number in the trace, from 1; further requests repeat it
    std::uint64_t digest;    // of the closing event that it would have
  };
  // `write_down`: see Accounts::write_down.
  explicit DecisionLog(const std::vector<std::uint64_t>& write_down = {}) {
    for (const std::uint64_t entry : write_down) texts_[entry];
  }

  void add(std::uint64_t decision, const allocator::Decision& made);

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  // describe() of an entry that was to be written down; empty if the run had no such entry.
  [[nodiscard]] std::string text(std::uint64_t entry) const {
    const auto found = texts_.find(entry);
    return found == texts_.end() ? std::string() : found->second;
  }

  // The number of leading requests that came out the same in both logs.
  [[nodiscard]] std::uint64_t alike(const DecisionLog& other) const;

 private:
  std::vector<Entry> entries_;
  std::map<std::uint64_t, std::string> texts_;  // the entries to write down
};

}  // namespace e4r::replay
