// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "trace/event.h"

namespace e4r::record {

// Brings the events of several CPUs, each in the order of time, into one order: by time, then by
// CPU.
class Merger {
 public:
  explicit Merger(std::size_t cpus) : queues_(cpus) {}

  void add(std::size_t cpu, const trace::Event& event) { queues_[cpu].push_back(event); }

  // What happened before `until` on any CPU, all of which must have been added. Valid until the
  // next call.
  [[nodiscard]] std::span<trace::Event> take_before(std::uint64_t until);

 private:
  std::vector<std::deque<trace::Event>> queues_;
  std::vector<trace::Event> out_;
};

}  // namespace e4r::record
