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
#include "watch/backlog.h"

namespace e4r::watch {

// Keeps the last minutes of a followed file system: its events, and checkpoints of the model's
// state before them. Only the follower's thread may call see() and before().
class FlightRecorder {
 public:
  struct Limits {
    std::uint64_t time_ns = 0;  // how far back the events reach; 0 if only `bytes` limits them
    std::uint64_t bytes = 0;    // approximate memory for events and checkpoints
  };

  // A checkpoint, and the bitmaps of the groups that have changed since the start image.
  struct Moment {
    std::uint64_t event = 0;    // number of events before the checkpoint
    std::uint64_t time_ns = 0;  // time of the first operation after the checkpoint
    replay::Checkpoint state;
    std::vector<std::uint32_t> groups;
    std::string words;  // bitmaps from settled_words(), compressed
    [[nodiscard]] std::uint64_t bytes() const;
  };
  // The recorder's content at one moment: a checkpoint and the events after it.
  struct Kept {
    std::shared_ptr<const Moment> from;
    std::vector<std::shared_ptr<const EventBlock>> blocks;  // the first block may begin before the
                                                            // checkpoint
    std::vector<trace::Event> tail;                         // the events after the blocks
    // Calls `each` with all events after the checkpoint, in order.
    [[nodiscard]] Status for_each(
        const std::function<Status(std::span<const trace::Event> events)>& each) const;
  };
  struct Held {
    double seconds = 0;  // since the oldest checkpoint
    std::uint64_t bytes = 0;
  };

  FlightRecorder(const Limits& limits, bool notes_frees) : limits_(limits), quiet_(notes_frees) {}

  // Records the next events. Must be called before the run takes them.
  void see(std::span<const trace::Event> events);
  // Must be called when the run is about to take the operation. Takes a checkpoint if one is due.
  void before(const replay::Op& op, replay::OrderSearch& run);

  // Empty if there is no checkpoint yet.
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

  mutable std::mutex mutex_;  // guards the members below
  std::deque<std::shared_ptr<const Moment>> moments_;
  std::deque<std::shared_ptr<const EventBlock>> blocks_;
  std::vector<trace::Event> tail_;
  std::uint64_t events_ = 0;  // number of events so far
  std::uint64_t block_bytes_ = 0;
  std::uint64_t packed_bytes_ = 0;     // size of all blocks so far
  std::uint64_t moment_at_bytes_ = 0;  // packed_bytes_ at the last checkpoint
  std::uint64_t last_ns_ = 0;
};

// The content of a capture other than its events.
struct FlightNotes {
  capture::StartFacts start;  // without facts that depend on the checkpoint
  std::string tunables;
  trace::Generation generation = trace::Generation::v6_1;
  std::string image_path;  // the start image of the run
  std::string reason;
};
// Writes the kept events as a capture with a checkpoint. The file is complete or absent.
[[nodiscard]] Status write_flight(const FlightRecorder::Kept& kept, const FlightNotes& notes,
                                  const OutputName& output);

}  // namespace e4r::watch
