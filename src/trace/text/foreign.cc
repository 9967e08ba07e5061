// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/text/foreign.h"

#include <algorithm>
#include <array>

#include "trace/text/body.h"
#include "trace/text/prefix.h"

namespace e4r::trace {
namespace {

// Whether the line is one of our events with raw fields: "dev=8388609 ino=12".
bool is_raw_event(std::string_view line) {
  Prefix prefix;
  Scan scan(line);
  if (!read_ftrace_prefix(scan, prefix) || !prefix.has_body || !kind_of(prefix.name)) return false;
  scan.spaces();
  return scan.word().find('=') != std::string_view::npos;
}

// Whether the line is like "0.000 dd/1234 ext4:ext4_request_blocks(dev: 8388609, ino: 12, ..."
bool is_perf_trace(std::string_view line) {
  const std::size_t at = line.find(" ext4:ext4_");
  if (at == std::string_view::npos) return false;
  const std::size_t end = line.find_first_of(":(", at + sizeof " ext4:" - 1);
  return end != std::string_view::npos && line[end] == '(';
}

// Whether the line is like
// "  8,0    3        1     0.000000000   697  G   W 223490 + 8 [kjournald]".
bool is_blkparse(std::string_view line) {
  Scan s(line);
  std::uint64_t number = 0;
  s.spaces();
  if (!s.number(number) || !s.ch(',')) return false;
  for (int i = 0; i < 3; ++i, s.spaces())
    if (!s.number(number) || !s.ch(' ')) return false;
  if (!s.number(number) || !s.ch('.') || !s.number(number)) return false;
  s.spaces();
  if (!s.number(number)) return false;
  s.spaces();
  const std::string_view action = s.word();
  return !action.empty() && action.size() <= 2 && action.front() >= 'A' && action.front() <= 'Z';
}

struct Form {
  bool (*is_line)(std::string_view line);
  std::string_view advice;
};
constexpr std::array<Form, 3> kForms = {{
    {is_raw_event,
     "has raw fields, as `trace-cmd report -R` and Perfetto print them: give the output of "
     "`trace-cmd report`, the trace.dat itself, or the text of tracefs"},
    {is_perf_trace,
     "is the output of `perf trace`: give the output of `perf record -e 'ext4:*' -e 'jbd2:*'` and "
     "`perf script --ns`"},
    {is_blkparse,
     "is the output of blkparse, which has no events of ext4: record with `e4replay record`"},
}};

}  // namespace

std::string_view foreign_form(std::string_view head) {
  // A packet of Perfetto's protocol buffers: field 1, its length, and the packet's first field.
  if (head.size() > 3 && head.front() == '\n' && static_cast<unsigned char>(head[1]) < 0xff &&
      head.substr(0, 4096).find('\0') != std::string_view::npos)
    return "looks like a trace of Perfetto: give the text of tracefs, trace-cmd report or perf "
           "script";
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && (head[first] == '{' || head[first] == '[') &&
      head.find("\"ph\"") != std::string_view::npos)
    return "is JSON for Perfetto or Chrome: give the trace that it was made from";
  while (!head.empty()) {
    const std::size_t end = head.find('\n');
    if (end == std::string_view::npos) break;  // possibly a truncated line
    std::string_view line = head.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    for (const Form& form : kForms)
      if (form.is_line(line)) return form.advice;
    head.remove_prefix(end + 1);
  }
  return {};
}

}  // namespace e4r::trace
