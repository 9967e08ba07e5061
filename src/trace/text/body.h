// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trace/event.h"
#include "trace/summary.h"
#include "trace/tep/record.h"
#include "trace/text/criterion.h"
#include "trace/text/scan.h"
#include "util/status.h"

namespace e4r::trace {

// The kind whose event_name() is `name`; lost_events is none of them.
[[nodiscard]] std::optional<EventKind> kind_of(std::string_view name);

// What the bodies of a whole trace have in common, and what was odd in them.
struct BodyContext {
  CriterionReader criterion;
  KindCounts unknown_flags = {};       // flag names that are not in our tables
  std::uint64_t unknown_criteria = 0;  // search criteria with neither a known number nor name
  KindCounts unknown_fields = {};      // bodies with words that no field of the event accounts for
  OlderThan older_than = OlderThan::unknown;  // by words that later kernels print otherwise
  std::string_view problem_key;  // after a failure: the field, and what is wrong with it
  std::string_view problem;
};

// A sign of a kernel before that release. The oldest counts.
inline void show_older(BodyContext& context, OlderThan release) {
  context.older_than = std::max(context.older_than, release);
}
inline std::uint64_t& unknown_flags(BodyContext& context, const Event& event) {
  return context.unknown_flags[static_cast<std::size_t>(event.kind)];
}

inline std::uint64_t& unknown_fields(BodyContext& context, const Event& event) {
  return context.unknown_fields[static_cast<std::size_t>(event.kind)];
}

// How a kind's events lie in the kernel's binary records; lost_events has none.
[[nodiscard]] const RecordBody& record_body(EventKind kind);

// Writes what is common to the bodies read so far into a summary.
void report_bodies(const BodyContext& context, TraceSummary& summary);

// After an mballoc_alloc: when its criterion has shown that earlier ones were misread, the Error
// that says so at `where`, or, for callers that can go back, the summary's reread_before.
struct OpenOptions;
[[nodiscard]] Status note_misread(const BodyContext& context, const OpenOptions& options,
                                  const std::string& where, TraceSummary& summary);

// Reads an event's body, "dev 8,1 ino 12 ...", the same in every text format, into the fields of
// `event` that its kind has; kind, cpu, pid and time are left alone, every other field must have
// its default. The layout of Linux 6.1 is read straight; anything else by its keys, with words that
// no field accounts for ignored. False when a field is missing or its value is not one.
[[nodiscard]] bool parse_body(Scan scan, Event& event, BodyContext& context);

// Appends the body as a kernel of that generation prints it (6.1 when unknown). What the neutral
// event does not keep (uid, gid and blocks of an inode, sync and head of a commit) is printed as 0.
void print_body(std::string& out, const Event& event, Generation generation);

}  // namespace e4r::trace
