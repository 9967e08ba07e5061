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

// Returns "CR0", "best-avail", "unknown" or a similar name, or the name that a policy gives to its
// rung. The text is valid until the program ends.
[[nodiscard]] E4REPLAY_API std::string_view criterion_name(Criterion criterion);

// A run of clusters in one group, unchecked, as in the trace. `start` is -1 if the kernel gave no
// start.
struct RecordedExtent {
  std::uint32_t group = 0;
  std::int32_t start = 0;     // cluster in the group
  std::uint32_t len = 0;      // clusters
  std::uint32_t logical = 0;  // block of the file
};

// A trace event, in the same form for every trace format. A field that this kind of event does not
// have is 0. The ext4 and jbd2 tracepoints and their fields are defined in include/trace/events of
// Linux 6.1. docs/trace-format.md lists the fields of each kind.
struct Event {
  std::string_view name;  // the tracepoint, such as "ext4_request_blocks", or "lost_events"; static
  std::uint64_t time_ns = 0;  // on the recorder's clock
  std::uint64_t ino = 0;
  std::uint64_t block = 0;  // device block, or the ID of a transaction
  std::uint64_t count = 0;  // blocks or clusters, depending on the kind
  std::uint64_t logical = 0;
  std::uint64_t goal = 0;  // block
  std::uint64_t left_block = 0, right_block = 0;
  std::uint64_t parent = 0;  // inode of the directory
  std::uint64_t i_size = 0;  // bytes; valid with has_inputs
  RecordedExtent orig, goal_extent, result;
  std::uint32_t left_logical = 0, right_logical = 0;
  std::uint32_t device_major = 0, device_minor = 0;
  std::uint32_t pid = 0;
  std::uint32_t cpu = 0;
  std::uint32_t flags = 0;  // with the kernel's values
  std::uint32_t group = 0;
  std::uint32_t needed = 0;
  std::uint32_t found = 0;   // extents, modulo 65536
  std::uint32_t groups = 0;  // groups, modulo 65536
  std::uint32_t tail = 0;
  std::uint32_t broken = 0;
  std::uint32_t orig_goal_len = 0;  // clusters; 0: not recorded
  std::int32_t i_writecount = 0;    // valid with has_inputs
  std::uint16_t mode = 0;           // as in st_mode
  Criterion criterion = Criterion::unknown;
  bool has_inputs = false;  // whether i_size and i_writecount were recorded
};

// How to read a trace.
struct TraceOptions {
  std::string device = {};      // "MAJOR:MINOR"; empty: all devices
  std::string generation = {};  // kernel generation: "6.1", "6.5" or "cr1.5"; empty: detected
  std::optional<std::string> buffer = {};  // only this buffer of a trace.dat; "": the top buffer
  bool lenient = false;                    // skip malformed lines instead of ending with an Error
};

// Reads events in recorded order. Not thread-safe, but two threads may use two readers.
class EventReader {
 public:
  // Opens a trace of any format, compressed or not: text from tracefs, trace-cmd or perf;
  // trace.dat; .e4t; or the trace in a capture (.e4c). Errors: a file that cannot be read or is not
  // a trace; an invalid option.
  [[nodiscard]] E4REPLAY_API static Result<EventReader> open(const std::string& path,
                                                             const TraceOptions& options = {});
  // Like open(), but accepts a file that unpacks to more than 500 times its size. No real recording
  // does.
  [[nodiscard]] E4REPLAY_API static Result<EventReader> open_any_ratio(
      const std::string& path, const TraceOptions& options = {});
  E4REPLAY_API EventReader(EventReader&&) noexcept;
  E4REPLAY_API EventReader& operator=(EventReader&&) noexcept;
  E4REPLAY_API ~EventReader();

  // Reads the next event. Returns false at the end of the trace and in every call after that. The
  // Error names the file and the line or offset.
  [[nodiscard]] E4REPLAY_API Result<bool> next(Event& event);

 private:
  friend class Access;
  struct Data;
  explicit EventReader(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

}  // namespace e4replay
