// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/text/scan.h"

#include <algorithm>
#include <array>

namespace e4r::trace {

Result<bool> LineReader::next_across_chunks() {
  carry_.assign(rest_.substr(0, kMaxLine));
  rest_.remove_prefix(carry_.size());
  while (carry_.size() < kMaxLine) {
    E4R_TRY(rest_, source_->next());
    if (rest_.empty()) {
      if (carry_.empty()) return false;
      terminated_ = false;
      break;
    }
    const std::size_t room = kMaxLine - carry_.size();
    const std::size_t newline = rest_.substr(0, room).find('\n');
    if (newline != std::string_view::npos) {
      carry_.append(rest_.substr(0, newline));
      rest_.remove_prefix(newline + 1);
      break;
    }
    const std::size_t taken = std::min(room, rest_.size());
    carry_.append(rest_.substr(0, taken));
    rest_.remove_prefix(taken);
  }
  take(carry_);
  return true;
}

namespace {

// All three tools pad the task name to this many columns. Task names are never longer.
constexpr std::size_t kTaskColumns = 16;
constexpr std::size_t kLatencyTaskColumns = 8;
// The last column at which the task name may end if a prefix was added to the line or padding was
// stripped.
constexpr std::size_t kSearchedColumns = 256;

// Reads "1417.067914", "1417.067914123" or a plain count ("3" with the counter clock).
bool read_time(LineCursor& s, std::uint64_t& ns) {
  std::uint64_t seconds = 0;
  if (!s.number(seconds)) return false;
  if (!s.ch('.')) {
    ns = seconds;
    return true;
  }
  constexpr std::uint64_t kSecond = 1'000'000'000;
  if (seconds >= UINT64_MAX / kSecond) return false;
  const char* start = s.p;
  std::uint64_t fraction = 0;
  if (!s.number(fraction)) return false;
  const auto digits = s.p - start;
  if (digits > 9) return false;
  static constexpr std::array<std::uint32_t, 10> kScale = {
      1'000'000'000, 100'000'000, 10'000'000, 1'000'000, 100'000, 10'000, 1'000, 100, 10, 1};
  ns = seconds * kSecond + fraction * kScale[static_cast<std::size_t>(digits)];
  return true;
}

// Reads the unit of the latency format, "114827us!", after the digits: microseconds, and a
// character that marks long waits.
bool read_latency_unit(LineCursor& s, std::uint64_t& ns) {
  if (!s.literal("us")) return true;
  if (ns > UINT64_MAX / 1000) return false;
  ns *= 1000;
  while (!s.at_end() && *s.p != ':' && *s.p != ' ') ++s.p;
  s.spaces();
  return true;
}

bool read_cpu(LineCursor& s, std::uint16_t& cpu) {
  return s.ch('[') && s.number(cpu) && s.ch(']');
}

// Reads the event's name up to its colon, or a bare word as function tracers print it.
bool read_name(LineCursor& s, Prefix& prefix) {
  const char* start = s.p;
  while (!s.at_end() && *s.p != ':' && *s.p != ' ') ++s.p;
  prefix.name = {start, static_cast<std::size_t>(s.p - start)};
  if (prefix.name.empty()) return false;
  prefix.has_body = s.ch(':');
  return true;
}

// Skips "(+12)   " of `trace-cmd report --ts-diff`, or the blanks in its place on the first line.
void skip_difference(LineCursor& s) {
  s.spaces();
  if (!s.literal("(+")) return;
  while (!s.at_end() && *s.p != ')') ++s.p;
  s.ch(')');
  s.spaces();
}

// Reads the rest of the prefix, beginning with the pid: "123  (456) [001] d..2. 1.000000: name: "
// or "123 1d..2. 1us : name: ".
bool read_after_dash(LineCursor& s, Prefix& prefix) {
  if (!s.number(prefix.pid) || !s.ch(' ')) return false;
  s.spaces();
  if (s.ch('(')) {  // the tgid
    while (!s.at_end() && *s.p != ')') ++s.p;
    if (!s.ch(')')) return false;
    s.spaces();
  }
  if (!s.at_end() && *s.p == '[') {
    if (!read_cpu(s, prefix.cpu) || !s.ch(' ')) return false;
    s.spaces();
    if (!s.at_end() && !LineCursor::digit(*s.p)) s.word();  // irqs-off, need-resched, ...
  } else {
    if (!s.number(prefix.cpu)) return false;
    if (s.word().empty()) return false;
  }
  s.spaces();
  if (!read_time(s, prefix.time_ns) || !read_latency_unit(s, prefix.time_ns)) return false;
  if (!s.literal(": ")) return false;
  skip_difference(s);
  if (!read_name(s, prefix)) return false;
  s.spaces();
  return true;
}

// Reads the rest of the prefix, beginning with the pid: "123/124 [001] 1.000000: ext4:name: ".
bool read_after_task(LineCursor& s, Prefix& prefix) {
  if (!s.number(prefix.pid) || (s.ch('/') && !s.number(prefix.pid)) || !s.ch(' ')) return false;
  s.spaces();
  prefix.has_cpu = !s.at_end() && *s.p == '[';
  if (prefix.has_cpu) {
    if (!read_cpu(s, prefix.cpu) || !s.ch(' ')) return false;
    s.spaces();
  }
  if (!read_time(s, prefix.time_ns) || !s.literal(": ")) return false;
  s.spaces();
  if (!read_name(s, prefix)) return false;
  prefix.system = {};
  if (prefix.has_body && !s.at_end() && *s.p != ' ') {
    prefix.system = prefix.name;
    if (!read_name(s, prefix)) return false;
  }
  s.spaces();
  return true;
}

// Calls `rest` on the line from `column` on. On success the scan continues where `rest` ended.
template <class Rest>
bool try_at(LineCursor& scan, std::size_t column, Prefix& prefix, Rest rest) {
  LineCursor attempt = scan;
  attempt.p += column;
  if (!rest(attempt, prefix)) return false;
  scan = attempt;
  return true;
}

}  // namespace

bool read_ftrace_prefix(LineCursor& scan, Prefix& prefix) {
  const std::string_view line = scan.rest();
  for (const std::size_t column : {kTaskColumns, kLatencyTaskColumns})
    if (line.size() > column && line[column] == '-' &&
        try_at(scan, column + 1, prefix, read_after_dash))
      return true;
  for (std::size_t i = 0; i < line.size() && i < kSearchedColumns; ++i)
    if (line[i] == '-' && try_at(scan, i + 1, prefix, read_after_dash)) return true;
  return false;
}

bool read_perf_prefix(LineCursor& scan, Prefix& prefix) {
  const std::string_view line = scan.rest();
  if (line.size() > kTaskColumns && line[kTaskColumns] == ' ') {
    const std::size_t pid = line.find_first_not_of(' ', kTaskColumns);
    if (pid != std::string_view::npos && try_at(scan, pid, prefix, read_after_task)) return true;
  }
  for (std::size_t i = 0; i < line.size() && i < kSearchedColumns; ++i)
    if (LineCursor::digit(line[i]) && (i == 0 || line[i - 1] == ' ') &&
        try_at(scan, i, prefix, read_after_task))
      return true;
  return false;
}

std::optional<LostMarker> read_lost_marker(std::string_view line) {
  LineCursor s(line);
  LostMarker marker;
  s.spaces();
  if (s.literal("LOST ")) {
    if (!s.number(marker.count) || !s.literal(" events")) return std::nullopt;
    return marker;
  }
  if (!s.literal("CPU:") || !s.number(marker.cpu) || !s.literal(" [")) return std::nullopt;
  const bool ftrace = s.literal("LOST ");
  if (!s.at_end() && LineCursor::digit(*s.p) && (!s.number(marker.count) || !s.ch(' ')))
    return std::nullopt;
  if (!s.literal(ftrace ? "EVENTS]" : "EVENTS DROPPED]")) return std::nullopt;
  return marker;
}

}  // namespace e4r::trace
