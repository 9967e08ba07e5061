// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "trace/event.h"
#include "util/status.h"

namespace e4r::watch {

// Successive events, packed into few bytes each.
struct EventBlock {
  // The largest number of events in a block. A block needs about a hundred bytes in addition to its
  // events.
  static constexpr std::size_t kMost = 1024;
  std::vector<std::uint8_t> bytes;
  std::uint64_t first = 0;  // the number of its first event, counted from 0
  std::uint32_t events = 0;
  [[nodiscard]] std::uint64_t end() const { return first + events; }
};

// Packs events into as many blocks as needed. `first` is the number of the first event.
void pack_events(std::span<const trace::Event> events, std::uint64_t first,
                 const std::function<void(EventBlock block)>& add);
[[nodiscard]] Status unpack_events(const EventBlock& block, std::vector<trace::Event>& out);

// The queue of events between the thread that reads them and the thread that follows the kernel.
// Contains the events since a start image, packed. Thread-safe.
class Backlog {
 public:
  struct State {
    std::uint64_t bytes = 0;     // in memory
    std::uint64_t added = 0;     // events
    std::uint64_t read = 0;      // events that the last reader has passed on
    std::uint64_t until_ns = 0;  // see add()
    bool keeps = true;
  };

  // Adds events in recorded order. No later call may add an event before `until_ns` (by the trace's
  // clock).
  void add(std::span<const trace::Event> events, std::uint64_t until_ns);
  // Declares that no more events will come. Readers reach their end after the last one.
  void end();
  // From now on, readers return the Error "stopped".
  void stop();
  // Drops the events that have been read. From now on, each event is dropped once it has been read.
  // Before this call all events are kept, so that another reader can begin with the first one.
  void forget();
  [[nodiscard]] State state() const;
  [[nodiscard]] bool has_ended() const;

  // Called on the reader's thread before each batch, and every 50 ms while the reader waits. The
  // argument is the time before which all events have been passed on, or nothing while events are
  // waiting. If it returns an Error, the reader returns that Error.
  using Between = std::function<Status(std::optional<std::uint64_t> until_ns)>;
  // A reader that begins with the first event and whose next() waits for events. There may be only
  // one reader at a time. The backlog must outlive it.
  [[nodiscard]] std::unique_ptr<trace::EventSource> read(Between between);
  // A reader of the events that are present now. Only before forget().
  [[nodiscard]] std::unique_ptr<trace::EventSource> read_present() const;

 private:
  class Reader;
  class PresentReader;
  void pack_tail();
  void drop_read();
  // Copies the events from `number` on, as many as are available.
  [[nodiscard]] Status copy_from(std::uint64_t number, std::vector<trace::Event>& out) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<EventBlock> blocks_;
  std::vector<trace::Event> tail_;  // the events after the blocks
  std::uint64_t block_bytes_ = 0;
  std::uint64_t added_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t until_ns_ = 0;
  bool ended_ = false, stopped_ = false, keeps_ = true;
};

}  // namespace e4r::watch
