// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/text/scan.h"

namespace e4r::trace {

// What stands before an event's body.
struct Prefix {
  std::uint32_t pid = 0;
  std::uint16_t cpu = 0;
  std::uint64_t time_ns = 0;
  std::string_view system;  // "ext4"; only perf says it
  std::string_view name;    // "ext4_free_blocks"
  bool has_cpu = true;      // perf script can leave it out
  bool has_body = true;     // false for what a function tracer prints
};

// Both read a whole prefix and leave the scan at the body; false when the line has none. Task names
// hold spaces, dashes, brackets and colons: they are told from what follows by the column at which
// each tool ends them, and failing that by trying every place where the rest fits exactly.

// "task-pid  (tgid) [cpu] flags time: name: " of ftrace, with or without tgid and flags; also the
// latency format ("task-pid cpuflags time us: name: "), and trace-cmd report, which pads the name.
[[nodiscard]] bool read_ftrace_prefix(Scan& scan, Prefix& prefix);

// "task pid/tid [cpu] time: system:name: " of perf script; pid or tid, and the cpu, may be missing.
[[nodiscard]] bool read_perf_prefix(Scan& scan, Prefix& prefix);

// A line in which a recorder says that it lost events: "CPU:1 [LOST 12 EVENTS]" (ftrace),
// "CPU:1 [12 EVENTS DROPPED]" (trace-cmd), "LOST 12 events!" (perf). perf script's own
// "PERF_RECORD_LOST lost 12" is an event name and comes through read_perf_prefix.
struct LostMarker {
  std::uint16_t cpu = 0;
  std::uint64_t count = 0;  // 0: the recorder does not know
};
[[nodiscard]] std::optional<LostMarker> read_lost_marker(std::string_view line);

}  // namespace e4r::trace
