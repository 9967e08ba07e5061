// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "allocator/allocator.h"
#include "trace/source.h"

namespace e4r::conformance {

// Delivers events from memory, a few at a time.
class MemorySource : public trace::EventSource {
 public:
  explicit MemorySource(std::span<const trace::Event> events, std::size_t batch = 7)
      : left_(events), batch_(batch) {}
  [[nodiscard]] Result<std::span<const trace::Event>> next() override;

 private:
  std::span<const trace::Event> left_;
  std::size_t batch_;
};

struct Thread {
  std::uint32_t pid = 1;
  std::uint16_t cpu = 0;
};

// Writes the trace that a kernel would write of an Allocator's work: an allocation's request event
// before the decision, a preallocation's event where it takes effect, then the closing event and
// the answer. Events of other threads may come in between.
class TraceWriter {
 public:
  // With `inputs`, requests carry i_size and i_writecount, as a kernel with the patch trace-inputs
  // records them.
  explicit TraceWriter(bool inputs) : inputs_(inputs) {}

  // An allocation under way. Nested ones must finish in reverse order.
  struct Open {
    Thread thread;
    allocator::Request request;
    std::size_t at = 0;  // index of the request event
    bool closed = false;
  };

  // `asked`: the clusters that the file system wanted before it claimed the free ones.
  Open open(const Thread& thread, const allocator::Request& request, std::uint32_t asked);
  // After the allocator's decision: writes the event that marks its moment.
  void decided(Open& open, const allocator::Decision& decision);
  // Writes the remaining events.
  void finish(const Open& open, const allocator::Decision& decision);
  // The request was refused before the allocator saw it.
  void refuse(const Open& open);

  void freed(const Thread& thread, std::uint64_t ino, std::uint32_t group, std::uint32_t start,
             std::uint32_t len);
  void discarded(const Thread& thread, std::uint64_t ino);
  void loaded(const Thread& thread, std::uint32_t group);
  void inode(const Thread& thread, trace::EventKind kind, std::uint64_t ino);
  void commit(trace::EventKind kind, std::uint64_t transaction);

  [[nodiscard]] const std::vector<trace::Event>& events() const { return events_; }

 private:
  trace::Event& add(trace::EventKind kind, const Thread& thread, std::uint64_t ino);
  void close(const Open& open, const allocator::Decision& decision);
  void answer(const Open& open, std::uint64_t block, std::uint32_t len);

  bool inputs_;
  std::vector<trace::Event> events_;
};

}  // namespace e4r::conformance
