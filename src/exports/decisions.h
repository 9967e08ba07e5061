// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "replay/accounts.h"
#include "report/replay_report.h"
#include "stats/free_extents.h"
#include "util/output.h"
#include "util/status.h"

// Exports the decisions of a comparison (docs/data.md): request by request for other programs, and
// over the trace's time for Perfetto.
namespace e4r::exports {

// The requests of the recorded kernel, or of one policy.
struct Series {
  std::uint32_t run = 0;       // 0: the recorded kernel; else the policy's position, from 1
  std::string_view name = {};  // "recorded", or the policy's name; UTF-8
  const replay::DecisionRows* rows = nullptr;
  [[nodiscard]] bool recorded() const { return run == 0; }
};

// Checks that the file name extension selects a format: .csv or .sqlite. "" means that nothing is
// written. The Error lists the extensions.
[[nodiscard]] Status check_name(std::string_view path);
// The kind of output that a file of that name needs.
[[nodiscard]] OutputKind kind_of(std::string_view path);

// Writes the table in the format that the file name selects, with one row per request of each
// series, in order. A database also has a table `meta` with facts from the report. `version` is the
// program's version.
[[nodiscard]] Status write_decisions(const OutputName& name, std::span<const Series> series,
                                     const report::ReplayReport& report, std::string_view version);

// A time, printed in seconds with nine decimals.
struct Seconds {
  std::uint64_t ns = 0;
};
// monostate stands for a missing or unknown value.
using Cell = std::variant<std::monostate, std::uint64_t, Seconds, std::string_view>;

// A column of the table of decisions. docs/data.md explains each column.
struct DecisionColumn {
  std::string_view name;  // a quantity has its unit as suffix
  std::string_view type;  // SQL type
  Cell (*cell)(const Series& series, const replay::DecisionRow& row);
};
[[nodiscard]] std::span<const DecisionColumn> columns();

// A word for how a request was served.
[[nodiscard]] std::string_view served_text(replay::ServedBy served);

// A series and the free space of its run.
struct Timeline {
  Series series;
  const stats::SpaceHistory* space = nullptr;          // free space during the run; null: not kept
  const std::vector<stats::GroupFree>* end = nullptr;  // free space of groups at the end, or null
};

// Fails if this build cannot write such traces.
[[nodiscard]] Status check_perfetto();

// Writes a trace for Perfetto. Each series is a process. It has a track for each thread, with a
// slice for each request, and counters of free clusters and of free extents within groups. A slice
// begins when its request was recorded, or when the previous slice on its track ends. Its length is
// the time that a kernel's code took, or for the recorded kernel the time from request to answer. A
// model is not timed: its slices have one nanosecond for each group considered and each extent
// examined. `start` is the free space of the groups before the trace.
[[nodiscard]] Status write_perfetto(const OutputName& name, std::span<const Timeline> timelines,
                                    const std::vector<stats::GroupFree>& start);

}  // namespace e4r::exports
