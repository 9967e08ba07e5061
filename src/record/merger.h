// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "trace/event.h"

namespace e4r::record {

// Merges the events of several CPUs, each ordered by time, into one order: by time, then by CPU.
class Merger {
 public:
  explicit Merger(std::size_t cpus) : queues_(cpus) {}

  void add(std::size_t cpu, const trace::Event& event) { queues_[cpu].push_back(event); }

  // Returns the events before `until` on all CPUs, valid until the next call. All of them must have
  // been added.
  [[nodiscard]] std::span<trace::Event> take_before(std::uint64_t until);

 private:
  std::vector<std::deque<trace::Event>> queues_;
  std::vector<trace::Event> out_;
};

}  // namespace e4r::record
