// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "record/bpf/input.h"
#include "trace/event.h"

namespace e4r::record {

// Puts what a BPF program has seen at the events of allocations into those events. Both are made on
// the same CPU one right after the other, but either may lack some that the other has.
class InputJoin {
 public:
  // In the order in which they were made on their CPU, before complete() sees their events. What
  // cannot be true (a kind that there is none of) is dropped.
  void add(const e4r_input& input);

  // Gives requests file size and open writers (Event::has_inputs), and the CPU whose locality group
  // served them where that is another than the event's; gives closing events the length of the goal
  // before trimming. A request whose closing event comes with a later call keeps its CPU.
  void complete(std::span<trace::Event> events);

  // Requests that were completed, and that were not, so far.
  [[nodiscard]] std::uint64_t completed() const { return completed_; }
  [[nodiscard]] std::uint64_t missed() const { return missed_; }

 private:
  // A locality group is used on its own CPU, but by threads that were moved meanwhile.
  struct Group {
    std::uint32_t cpu = 0;  // on which it was used most
    std::unordered_map<std::uint32_t, std::uint64_t> seen;
  };
  // The input of that event, taken out with all before it that are too old to be another's.
  bool take(const trace::Event& event, e4r_input& input);
  void set_group_cpu(std::span<trace::Event> events, const trace::Event& closing,
                     const e4r_input& input);
  [[nodiscard]] std::uint16_t cpu_of_group(const e4r_input& input);

  std::unordered_map<std::uint32_t, std::deque<e4r_input>> queues_;  // by CPU
  std::unordered_map<std::uint32_t, std::size_t> open_;  // by thread: its request in this call
  std::unordered_map<std::uint64_t, Group> groups_;      // by group_offset
  std::uint64_t completed_ = 0;
  std::uint64_t missed_ = 0;
};

}  // namespace e4r::record
