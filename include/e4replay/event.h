// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <e4replay/criterion.h>
#include <e4replay/export.h>
#include <e4replay/result.h>

namespace e4replay {

// "CR0", "best-avail", "unknown"; of a rung with a name of its own, that name. Good for as long as
// the program runs.
[[nodiscard]] E4REPLAY_API std::string_view criterion_name(Criterion criterion);

// A run of clusters in one group as a trace has it: any numbers, with a start of -1 where the
// kernel has none.
struct RecordedExtent {
  std::uint32_t group = 0;
  std::int32_t start = 0;     // cluster in the group
  std::uint32_t len = 0;      // clusters
  std::uint32_t logical = 0;  // block of the file
};

// One event of a trace, the same for every trace format. Fields that a kind does not have are 0.
// The tracepoints of ext4 and jbd2 and their fields are those of include/trace/events of Linux 6.1.
// docs/trace-format.md says which kind has which field.
struct Event {
  std::string_view name;      // the tracepoint's, "ext4_request_blocks"; "lost_events". Static
  std::uint64_t time_ns = 0;  // of the recorder's clock
  std::uint64_t ino = 0;
  std::uint64_t block = 0;  // of the device, or a transaction
  std::uint64_t count = 0;  // blocks or clusters, by the kind
  std::uint64_t logical = 0;
  std::uint64_t goal = 0;  // block
  std::uint64_t left_block = 0, right_block = 0;
  std::uint64_t parent = 0;  // directory
  std::uint64_t i_size = 0;  // bytes; with has_inputs
  RecordedExtent orig, goal_extent, result;
  std::uint32_t left_logical = 0, right_logical = 0;
  std::uint32_t device_major = 0, device_minor = 0;
  std::uint32_t pid = 0;
  std::uint32_t cpu = 0;
  std::uint32_t flags = 0;  // as the kernel numbers them
  std::uint32_t group = 0;
  std::uint32_t needed = 0;
  std::uint32_t found = 0;   // extents; 16 bits in the trace
  std::uint32_t groups = 0;  // likewise
  std::uint32_t tail = 0;
  std::uint32_t broken = 0;
  std::uint32_t orig_goal_len = 0;  // clusters; 0: not recorded
  std::int32_t i_writecount = 0;    // with has_inputs
  std::uint16_t mode = 0;           // as in st_mode
  Criterion criterion = Criterion::unknown;
  bool has_inputs = false;  // i_size and i_writecount were recorded
};

// How to read a trace.
struct TraceOptions {
  std::string device = {};      // "MAJOR:MINOR"; empty: of all devices
  std::string generation = {};  // of the kernel: "6.1", "6.5" or "cr1.5"; empty: found out
  std::optional<std::string> buffer = {};  // of a trace.dat, this instance only; "": the top buffer
  bool lenient = false;                    // skip malformed lines instead of ending with an Error
};

// Reads events in recorded order. Not thread-safe; two readers may be used in two threads.
class EventReader {
 public:
  // A trace of any format, or a capture's: text of tracefs, trace-cmd or perf, trace.dat, .e4t,
  // .e4c, compressed or not. Errors: what cannot be read or is no trace; an option that is none.
  [[nodiscard]] E4REPLAY_API static Result<EventReader> open(const std::string& path,
                                                             const TraceOptions& options = {});
  E4REPLAY_API EventReader(EventReader&&) noexcept;
  E4REPLAY_API EventReader& operator=(EventReader&&) noexcept;
  E4REPLAY_API ~EventReader();

  // The next event; false at the end of the trace, and on every call after that. The Error names
  // file and line, or offset.
  [[nodiscard]] E4REPLAY_API Result<bool> next(Event& event);

 private:
  friend class Access;
  struct Data;
  explicit EventReader(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

}  // namespace e4replay
