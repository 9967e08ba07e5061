// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/capture.h"
#include "replay/checkpoint.h"
#include "replay/order_search.h"
#include "replay/quiet_points.h"
#include "trace/event.h"
#include "util/output.h"
#include "watch/packed_events.h"

namespace e4r::watch {

// Keeps the last minutes of a followed file system: its events, and checkpoints of the model's
// state before them. The follower's thread calls see() and before(); others may call the rest.
class FlightRecorder {
 public:
  struct Limits {
    std::uint64_t time_ns = 0;  // how far back it reaches; 0: as far as `bytes` allows
    std::uint64_t bytes = 0;    // of memory for events and checkpoints, about
  };

  // A checkpoint, and the bitmaps of the groups that have changed since the start image.
  struct Moment {
    std::uint64_t event = 0;    // how many events were before it
    std::uint64_t time_ns = 0;  // of the first operation behind it
    replay::Checkpoint state;
    std::vector<std::uint32_t> groups;
    std::string words;  // of these groups, settled; compressed
    [[nodiscard]] std::uint64_t bytes() const;
  };
  // What there is at one moment: a checkpoint, and the events behind it.
  struct Kept {
    std::shared_ptr<const Moment> from;
    std::vector<std::shared_ptr<const EventBlock>> blocks;  // the first may begin before it
    std::vector<trace::Event> tail;                         // behind the blocks
    // Calls `each` with all events behind the checkpoint, in order.
    [[nodiscard]] Status for_each(
        const std::function<Status(std::span<const trace::Event> events)>& each) const;
  };
  struct Held {
    double seconds = 0;  // since the oldest checkpoint
    std::uint64_t bytes = 0;
  };

  FlightRecorder(const Limits& limits, bool notes_frees) : limits_(limits), quiet_(notes_frees) {}

  // The next events, on their way to the run.
  void see(std::span<const trace::Event> events);
  // The run is about to take the operation. Takes a checkpoint if it is time for one.
  void before(const replay::Op& op, replay::OrderSearch& run);

  // Nothing: there is no checkpoint yet.
  [[nodiscard]] std::optional<Kept> kept() const;
  [[nodiscard]] Held held() const;

 private:
  struct Candidate {
    std::uint64_t event = 0;
    std::vector<std::uint32_t> freeing_data;
  };
  [[nodiscard]] bool is_due() const;
  void add(std::shared_ptr<const Moment> moment);
  void drop_old();
  [[nodiscard]] std::uint64_t bytes() const;

  Limits limits_;
  replay::QuietPoints quiet_;
  std::optional<Candidate> candidate_;

  mutable std::mutex mutex_;  // guards what follows
  std::deque<std::shared_ptr<const Moment>> moments_;
  std::deque<std::shared_ptr<const EventBlock>> blocks_;
  std::vector<trace::Event> tail_;
  std::uint64_t events_ = 0;  // so far
  std::uint64_t block_bytes_ = 0;
  std::uint64_t packed_bytes_ = 0;     // of all blocks so far
  std::uint64_t moment_at_bytes_ = 0;  // packed_bytes_ at the last checkpoint
  std::uint64_t last_ns_ = 0;
};

// What a capture says beside its events.
struct FlightNotes {
  capture::StartFacts start;  // without what depends on the checkpoint
  std::string tunables;
  trace::Generation generation = trace::Generation::v6_1;
  std::string image_path;  // of the start image from which the run began
  std::string reason;
};
// Writes what is kept as a capture with a checkpoint. The file is whole or absent.
[[nodiscard]] Status write_flight(const FlightRecorder::Kept& kept, const FlightNotes& notes,
                                  const OutputName& output);

}  // namespace e4r::watch
