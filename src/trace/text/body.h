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
#include "trace/text/names.h"
#include "trace/text/scan.h"
#include "util/status.h"

namespace e4r::trace {

// Returns the kind whose event_name() is `name`; nullopt for lost_events and unknown names.
// Lustre's copy of ext4 prints the same events under other names, such as ldiskfs_request_blocks.
[[nodiscard]] std::optional<EventKind> kind_of(std::string_view name);
// Whether `name` is an event name of Lustre's ldiskfs.
inline constexpr std::string_view kLdiskfs = "ldiskfs_";
[[nodiscard]] bool is_of_ldiskfs(std::string_view name);

// State shared by the bodies of a whole trace, and counts of their irregularities.
struct BodyContext {
  CriterionReader criterion;
  KindCounts unknown_flags = {};       // flag names that are not in our tables
  std::uint64_t unknown_criteria = 0;  // search criteria with neither a known number nor name
  KindCounts unknown_fields = {};      // bodies with words that belong to no field of the event
  bool of_ldiskfs = false;             // an event has a name of Lustre's ldiskfs
  OlderThan older_than =
      OlderThan::unknown;        // derived from words that later kernels print differently
  std::string_view problem_key;  // after a failure: the field, and the problem
  std::string_view problem;
};

// Records that the kernel is older than `release`. The oldest bound wins.
inline void show_older(BodyContext& context, OlderThan release) {
  context.older_than = std::max(context.older_than, release);
}
inline std::uint64_t& unknown_flags(BodyContext& context, const Event& event) {
  return context.unknown_flags[static_cast<std::size_t>(event.kind)];
}

inline std::uint64_t& unknown_fields(BodyContext& context, const Event& event) {
  return context.unknown_fields[static_cast<std::size_t>(event.kind)];
}

// The layout of a kind's events in the kernel's binary records; lost_events has none.
[[nodiscard]] const RecordBody& record_body(EventKind kind);

// Copies the shared state to a summary.
void report_bodies(const BodyContext& context, TraceSummary& summary);

// Call this after each mballoc_alloc. If its criterion shows that earlier criteria were misread, it
// returns an Error that names `where`. For callers that can revisit events, it sets the summary's
// reread_before instead.
struct ReadOptions;
[[nodiscard]] Status note_misread(const BodyContext& context, const ReadOptions& options,
                                  const std::string& where, TraceSummary& summary);

// Reads an event's body, "dev 8,1 ino 12 ...", which is the same in every text format. Sets the
// fields of the event's kind and does not touch kind, cpu, pid and time; every other field must
// have its default value. First tries the layout of Linux 6.1, then reads by keys and ignores words
// that belong to no field. Returns false if a field is missing or its value is malformed.
[[nodiscard]] bool parse_body(LineCursor scan, Event& event, BodyContext& context);

// Appends the body as a kernel of that generation prints it (6.1 if unknown). Values that Event
// does not hold (uid, gid and blocks of an inode, sync and head of a commit) are printed as 0.
void print_body(std::string& out, const Event& event, Generation generation);

// Appends the header of an ftrace text.
void print_ftrace_header(std::string& out);

// Appends an event as ftrace prints it, with "<...>" as the task's name and six digits of time, or
// nine if needed. Reading it back gives the same event, except for the time of a lost_events
// marker, which ftrace does not print.
void print_ftrace_event(std::string& out, const Event& event, Generation generation);

}  // namespace e4r::trace
