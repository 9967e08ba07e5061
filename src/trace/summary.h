// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/event.h"
#include "trace/source.h"
#include "util/status.h"

namespace e4r::trace {

// A release that the trace's words show the recorded kernel to be older than; unknown when nothing
// shows it.
enum class OlderThan : std::uint8_t { unknown, v5_9, v5_7, v4_0 };

enum class Format : std::uint8_t { unknown, ftrace, trace_cmd, perf, e4t, trace_dat };
// "ftrace text", "trace-cmd report", "perf script", "e4t", "trace-cmd recording".
[[nodiscard]] std::string_view format_name(Format format);

// How much was seen of a device, of an event name.
struct DeviceCount {
  std::uint32_t dev = 0;
  std::uint64_t events = 0;
  std::uint64_t requests = 0;  // ext4_request_blocks
  friend bool operator==(const DeviceCount&, const DeviceCount&) = default;
};
struct NameCount {
  std::string name;
  std::uint64_t count = 0;
  friend bool operator==(const NameCount&, const NameCount&) = default;
};

// What is known about a trace, other than its events.
struct TraceSummary {
  Format format = Format::unknown;       // of the file
  Format recorded_as = Format::unknown;  // of the recording behind it: differs for .e4t
  Generation generation = Generation::unknown;
  bool generation_guessed = false;  // criteria were digits up to 3: could be 6.5 or 6.6
  OlderThan older_than = OlderThan::unknown;
  std::string kernel, clock;  // release and trace clock, as "6.1.0-18-amd64", "mono", if recorded
  std::uint64_t reread_before = 0;                      // see OpenOptions::late_generation
  std::uint64_t lines = 0;                              // of text
  std::uint64_t events = 0;                             // delivered, lost_events markers included
  std::array<std::uint64_t, kEventKinds> by_kind = {};  // delivered
  std::vector<DeviceCount> devices;         // all that were seen, delivered or not, in that order
  std::vector<std::uint64_t> cpus;          // events by CPU number, likewise
  std::uint64_t first_ns = 0, last_ns = 0;  // smallest and largest time delivered
  std::uint64_t requests_with_inputs = 0;   // request_blocks with i_size and i_writecount
  // Searches for streams whose goal has a group and no start in it: Linux 6.17 and later.
  std::uint64_t streams_without_start = 0;
  std::uint64_t lost_events = 0;     // sum over the markers
  std::uint64_t lost_uncounted = 0;  // markers that do not say how many
  std::uint64_t overwritten = 0;     // events that the recorder's buffer had no room for
  std::uint64_t entries_in_buffer = 0, entries_written = 0;  // ftrace's header; 0: no such line
  std::vector<NameCount> unknown_events;                     // events of other kinds, by name
  std::uint64_t unknown_flags = 0, unknown_criteria = 0, unknown_fields = 0;
  KindCounts unknown_flags_of = {};   // the same by kind; older .e4t files have the sum alone
  KindCounts unknown_fields_of = {};  // likewise
  std::uint64_t skipped_lines = 0;    // malformed lines or records that were passed over
  KindCounts malformed = {};          // those of them whose kind is known
  std::uint64_t damaged = 0;          // places where data could not be read and were passed over
  std::uint64_t without_cpu = 0;      // events that do not say on which CPU they happened
  std::vector<std::string> warnings;  // damage that was passed over, a cut last line, ...

  // Whether the recording lost events. What they were, no event source can know.
  [[nodiscard]] bool lost_any() const {
    return lost_events > 0 || lost_uncounted > 0 || overwritten > 0;
  }
  [[nodiscard]] std::uint64_t count(EventKind kind) const {
    return by_kind[static_cast<std::size_t>(kind)];
  }

  // Counts an event that is about to be delivered; false, and counted only by device and CPU, when
  // `only` asks for another device.
  bool add(const Event& event, const std::uint32_t* only);
  void add_unknown(std::string_view name);
  // Counts a malformed event that was passed over.
  void add_malformed(EventKind kind);
  // The part of add() that counts a delivered event, and what forgets all of those.
  void deliver(const Event& event);
  void restart();
  // Takes what deliver() has counted in another summary in place of its own.
  void take_delivered(const TraceSummary& from);
};

// What was skipped or not understood, one line for each event and reason. Empty when all was read.
[[nodiscard]] std::vector<std::string> not_understood(const TraceSummary& summary);

// What a tool should say about the trace, one line each: losses, damage, what not_understood() has.
// Empty for a perfect one.
[[nodiscard]] std::vector<std::string> notes(const TraceSummary& summary);

// The device to take when nobody chose: most requests, then most events. nullptr when none.
[[nodiscard]] const DeviceCount* busiest(const TraceSummary& summary);

// The device to take: `wanted`, else the only one, else what `sink` prefers, else the busiest.
// `why` is empty where there was no choice. Errors, with the trace's name: it holds no events, or
// none of `wanted`.
[[nodiscard]] Result<DeviceChoice> choose_device(const std::string& name,
                                                 const TraceSummary& summary,
                                                 std::optional<std::uint32_t> wanted,
                                                 const EventSink* sink = nullptr);
// The line for a person that says so.
[[nodiscard]] std::string device_note(const TraceSummary& summary, const DeviceChoice& choice);

// Which kernels print traces like this: what the criteria show, or more when the events do.
[[nodiscard]] std::string_view kernel_of(const TraceSummary& summary);

}  // namespace e4r::trace
