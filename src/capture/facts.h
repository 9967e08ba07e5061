// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/status.h"

// What a recorder knows beside events, image and the kernel's own files. Kept as JSON, under the
// names of the members.
namespace e4r::capture {

// At the start.
struct StartFacts {
  std::string recorder;        // program and version
  std::string time;            // UTC, ISO 8601
  std::string kernel;          // as `uname -r`
  std::string kernel_version;  // as `uname -v`
  std::string machine;         // as `uname -m`
  std::string device;          // MAJOR:MINOR
  std::string device_name;     // as the kernel calls it, "sda1"
  std::string mount_point;
  std::string mount_options;
  std::string command;   // empty: recorded by the clock
  std::string clock;     // of the trace's times
  std::string events;    // "minimal" or "full"
  std::string snapshot;  // how the start image was taken: "freeze", "unmounted", ...
  std::uint32_t possible_cpus = 0;
  bool rotational = false;
  bool mounted = false;  // the file system had a past when recording began
  bool settled = false;  // inodes were dropped from the cache before
  double frozen_s = 0;   // how long writers had to wait for the start image
};

// Of one CPU's buffer.
struct Losses {
  std::uint32_t cpu = 0;
  std::uint64_t events = 0;
};

// At the end. A capture that was cut short has none.
struct EndFacts {
  std::string time;                         // UTC, ISO 8601
  std::string reason;                       // "command ended", "time is up", "interrupted", ...
  std::optional<std::int64_t> exit_status;  // of the command; 128 + N: ended by signal N
  double elapsed_s = 0;
  double frozen_s = 0;  // for the kernel's files at the end
  std::uint64_t events = 0;
  std::vector<Losses> lost;
  bool quiet = false;  // the kernel's files are of the moment of the last event
};

// Events that all CPUs lost together.
[[nodiscard]] std::uint64_t all_lost(const std::vector<Losses>& lost);

// Bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string to_json(const StartFacts& facts);
[[nodiscard]] std::string to_json(const EndFacts& facts);
// Members that are missing keep their defaults, others are ignored; strings may have bytes that are
// no UTF-8. The Error is a line for what is no JSON object, or has a member of a wrong type.
[[nodiscard]] Result<StartFacts> parse_start_facts(std::string_view json);
[[nodiscard]] Result<EndFacts> parse_end_facts(std::string_view json);

// Options of a mount, comma-separated, each of them once: mountinfo lists those of the mount and
// those of the file system, and some are both ("rw").
[[nodiscard]] std::string each_option_once(std::string_view options);

// Names of the texts in a capture.
namespace text_name {
inline constexpr std::string_view kStart = "start.json";
inline constexpr std::string_view kEnd = "end.json";
inline constexpr std::string_view kTunables = "tunables";
inline constexpr std::string_view kStartGroups = "start/mb_groups";
inline constexpr std::string_view kStartStats = "start/mb_stats";
inline constexpr std::string_view kEndGroups = "end/mb_groups";
inline constexpr std::string_view kEndStats = "end/mb_stats";
}  // namespace text_name

}  // namespace e4r::capture
