// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/text/scan.h"

namespace e4r::trace {

// The part of a line before an event's body.
struct Prefix {
  std::uint32_t pid = 0;
  std::uint16_t cpu = 0;
  std::uint64_t time_ns = 0;
  std::string_view system;  // "ext4"; only perf prints it
  std::string_view name;    // "ext4_free_blocks"
  bool has_cpu = true;      // perf script can omit it
  bool has_body = true;     // false for a function tracer's line
};

// Both functions read a whole prefix and leave the scan at the body. They return false if the line
// has no prefix. Task names may hold spaces, dashes, brackets and colons. Each tool ends them at a
// fixed column; where that fails, every place after which the rest matches exactly is tried.

// "task-pid  (tgid) [cpu] flags time: name: " of ftrace, with or without tgid and flags. Also reads
// the latency format ("task-pid cpuflags time us: name: ") and trace-cmd report, which pads the
// name.
[[nodiscard]] bool read_ftrace_prefix(Scan& scan, Prefix& prefix);

// "task pid/tid [cpu] time: system:name: " of perf script. pid or tid, and the cpu, may be missing.
[[nodiscard]] bool read_perf_prefix(Scan& scan, Prefix& prefix);

// A line that reports lost events: "CPU:1 [LOST 12 EVENTS]" (ftrace), "CPU:1 [12 EVENTS DROPPED]"
// (trace-cmd), "LOST 12 events!" (perf). "PERF_RECORD_LOST lost 12" of perf script has an event's
// prefix, so read_perf_prefix reads it.
struct LostMarker {
  std::uint16_t cpu = 0;
  std::uint64_t count = 0;  // 0: unknown
};
[[nodiscard]] std::optional<LostMarker> read_lost_marker(std::string_view line);

}  // namespace e4r::trace
