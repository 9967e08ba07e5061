// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "record/bpf/messages.h"
#include "trace/event.h"
#include "util/status.h"

namespace e4r::record {

// The trace clocks that this process can also read. The recorder compares them with event times to
// know which events are complete.
enum class TraceClock : std::uint8_t { mono, mono_raw, boot };
[[nodiscard]] Result<TraceClock> parse_clock(const std::string& name);
[[nodiscard]] const char* clock_name(TraceClock clock);
// The current time in nanoseconds.
[[nodiscard]] std::uint64_t read_clock(TraceClock clock);

// Merges the events of several CPUs, each ordered by time, into one order: by time, then by CPU.
class Merger {
 public:
  explicit Merger(std::size_t cpus) : queues_(cpus) {}

  void add(std::size_t cpu, const trace::Event& event) { queues_[cpu].push_back(event); }

  // Returns the events before `until` on all CPUs. The result is valid until the next call. All
  // these events must have been added.
  [[nodiscard]] std::span<trace::Event> take_before(std::uint64_t until);

 private:
  std::vector<std::deque<trace::Event>> queues_;
  std::vector<trace::Event> out_;
};

// Adds the inputs that a BPF program saw to the events of allocations. An input and its event are
// made on the same CPU in quick succession, but either may be missing.
class InputJoin {
 public:
  // Adds an input. The inputs of each CPU must come in the order in which they were made, and
  // before complete() sees their events. Drops inputs of an unknown kind.
  void add(const e4r_input& input);

  // Completes events. A request gets the file size and the number of open writers
  // (Event::has_inputs). If another CPU's locality group served it, the request also gets that CPU.
  // A closing event gets the goal's length before trimming. A request keeps its own CPU if its
  // closing event comes in a later call.
  void complete(std::span<trace::Event> events);

  // How many requests got their inputs, and how many did not.
  [[nodiscard]] std::uint64_t completed() const { return completed_; }
  [[nodiscard]] std::uint64_t missed() const { return missed_; }

 private:
  // A locality group. A thread uses the group of its CPU, but may be moved to another CPU
  // afterwards.
  struct Group {
    std::uint16_t cpu = 0;  // the CPU that chose it most often
    std::unordered_map<std::uint16_t, std::uint64_t> seen;
  };
  // Removes the input of an event from its queue, and any input too old for all later events.
  // Returns whether there was an input for the event.
  bool take(const trace::Event& event, e4r_input& input);
  void set_group_cpu(std::span<trace::Event> events, const trace::Event& closing,
                     const e4r_input& input);
  // Counts one use and returns the group's CPU according to all uses so far.
  std::uint16_t cpu_of_group(std::uint64_t offset, std::uint16_t seen_on);

  std::unordered_map<std::uint32_t, std::deque<e4r_input>> queues_;  // by CPU
  std::unordered_map<std::uint32_t, std::size_t> open_;  // by thread: the index of its request in
                                                         // this call
  std::unordered_map<std::uint64_t, Group> groups_;      // by group_offset
  std::uint64_t completed_ = 0;
  std::uint64_t missed_ = 0;
};

}  // namespace e4r::record
