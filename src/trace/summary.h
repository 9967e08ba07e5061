// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/event.h"
#include "util/status.h"

namespace e4r::trace {

// An upper bound on the recorded kernel's release, derived from words in the trace; unknown if no
// word limits it.
enum class OlderThan : std::uint8_t { unknown, v5_9, v5_7, v4_0 };

enum class Format : std::uint8_t { unknown, ftrace, trace_cmd, perf, e4t, trace_dat };
// Returns "ftrace text", "trace-cmd report", "perf script", "e4t" or "trace-cmd recording".
[[nodiscard]] std::string_view format_name(Format format);

// Counts of events of one device (DeviceCount) and of one event name (NameCount).
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

// The maximum number of devices that are counted separately. Further devices are counted with the
// last one, so that a crafted trace cannot exhaust memory.
inline constexpr std::size_t kMaxDevices = 256;

// Counts of delivered events.
struct DeliveredCounts {
  std::uint64_t events = 0;  // including lost_events markers
  KindCounts by_kind = {};
  std::uint64_t first_ns = 0, last_ns = 0;  // smallest and largest time
  std::uint64_t requests_with_inputs = 0;   // request_blocks with i_size and i_writecount
  // Stream searches whose goal has a group but no start, as on Linux 6.17 and later.
  std::uint64_t streams_without_start = 0;
  std::uint64_t lost_events = 0;     // number of lost events, summed over the markers
  std::uint64_t lost_uncounted = 0;  // markers without a number of lost events

  [[nodiscard]] std::uint64_t count(EventKind kind) const {
    return by_kind[static_cast<std::size_t>(kind)];
  }
  void deliver(const Event& event);
};

// Facts about a trace other than its events.
struct TraceSummary : DeliveredCounts {
  Format format = Format::unknown;       // of this file
  Format recorded_as = Format::unknown;  // of the original recording; differs from format for .e4t
  Generation generation = Generation::unknown;
  bool of_ldiskfs = false;  // recorded from Lustre's copy of ext4, which has its own allocator
  bool generation_guessed = false;  // criteria were digits up to 3: perhaps 6.5 or 6.6
  OlderThan older_than = OlderThan::unknown;
  std::string kernel, clock;        // release and trace clock as recorded: "6.1.0-18-amd64", "mono"
  std::uint64_t reread_before = 0;  // see ReadOptions::late_generation
  std::uint64_t lines = 0;          // lines of text
  std::vector<DeviceCount> devices;  // every device seen, delivered or not, in order of appearance
  std::vector<std::uint64_t> cpus;   // events by CPU number, delivered or not
  std::uint64_t overwritten = 0;     // events for which the recorder's buffer had no room
  std::uint64_t entries_in_buffer = 0, entries_written = 0;  // ftrace's header; 0: no such line
  std::vector<NameCount> unknown_events;                     // events of other kinds, by name
  std::uint64_t unknown_flags = 0, unknown_criteria = 0, unknown_fields = 0;
  KindCounts unknown_flags_of = {};   // the same by kind; older .e4t files have only the sum
  KindCounts unknown_fields_of = {};  // likewise
  std::uint64_t skipped_lines = 0;    // malformed lines or records that were skipped
  KindCounts malformed = {};          // the skipped events whose kind is known
  std::uint64_t damaged = 0;          // places where unreadable data was skipped
  std::uint64_t without_cpu = 0;      // events without a CPU number
  std::vector<std::string> warnings;  // skipped damage, a truncated last line, ...

  // Whether the recording lost events.
  [[nodiscard]] bool lost_any() const {
    return lost_events > 0 || lost_uncounted > 0 || overwritten > 0;
  }

  // Counts an event before its delivery. If `only` names another device, counts it only by device
  // and CPU and returns false.
  bool add(const Event& event, const std::uint32_t* only);
  void add_unknown(std::string_view name);
  // Counts a malformed event that was skipped.
  void add_malformed(EventKind kind);
  // Replaces the counts of delivered events.
  void set_delivered(const DeliveredCounts& counts) {
    static_cast<DeliveredCounts&>(*this) = counts;
  }
};

// Returns one line for each kind of event and each reason for which something was skipped or not
// understood; empty if everything was read.
[[nodiscard]] std::vector<std::string> not_understood(const TraceSummary& summary);

// Returns the lines that a tool should print about the trace: losses, damage and not_understood().
// Empty for a perfect trace.
[[nodiscard]] std::vector<std::string> notes(const TraceSummary& summary);

// The default device: the one with the most requests, then the most events. nullptr if `devices` is
// empty.
[[nodiscard]] const DeviceCount* busiest(std::span<const DeviceCount> devices);

// Chooses a device: `wanted`, else the only one, else the one that `sink` prefers, else the
// busiest. `why` is empty if there was only one. Fails if the trace holds no events, or no events
// of `wanted`; the Error names the trace.
[[nodiscard]] Result<DeviceChoice> choose_device(const std::string& name,
                                                 const TraceSummary& summary,
                                                 std::optional<std::uint32_t> wanted,
                                                 const EventSink* sink = nullptr);
// A line that tells the user which device was chosen and why.
[[nodiscard]] std::string device_note(const TraceSummary& summary, const DeviceChoice& choice);

// Names the kernels that print such traces, judged by the criteria, or by the events if these are
// more specific.
[[nodiscard]] std::string_view kernel_of(const TraceSummary& summary);

// The number of events that one CPU's ring buffer lost, according to its per_cpu/cpuN/stats in
// tracefs (tracing_stats_read, Linux 6.1). These events were overwritten before they were read, or
// were not stored.
[[nodiscard]] std::uint64_t lost_by_stats(std::string_view stats);

}  // namespace e4r::trace
