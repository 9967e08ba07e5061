// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/readers.h"

#include <algorithm>
#include <array>
#include <vector>

#include "trace/text/body.h"
#include "trace/text/scan.h"
#include "util/units.h"

namespace e4r::trace {
namespace {

// A text format: how to read the prefix of its lines, and how to recognise one of its lines.
struct TextFormat {
  Format format;
  bool (*read_prefix)(LineCursor&, Prefix&);
  bool (*recognise)(std::string_view line);
};

bool is_ftrace(std::string_view line) {
  Prefix prefix;
  LineCursor scan(line);
  return line.starts_with("# tracer:") || line.starts_with("# entries-in-buffer/") ||
         (line.starts_with("CPU:") && line.find(" [LOST ") != std::string_view::npos) ||
         read_ftrace_prefix(scan, prefix);
}

// Whether the line comes from trace-cmd, which pads the event's name; ftrace does not.
bool is_trace_cmd(std::string_view line) {
  Prefix prefix;
  LineCursor scan(line);
  if (line.starts_with("cpus=") || line.ends_with(" EVENTS DROPPED]")) return true;
  return read_ftrace_prefix(scan, prefix) && prefix.has_body && scan.p - 2 > line.data() &&
         scan.p[-1] == ' ' && scan.p[-2] == ' ';
}

bool is_perf(std::string_view line) {
  Prefix prefix;
  LineCursor scan(line);
  return read_perf_prefix(scan, prefix) && !prefix.system.empty();
}

constexpr std::array<TextFormat, 3> kFormats = {{
    {Format::trace_cmd, read_ftrace_prefix, is_trace_cmd},
    {Format::ftrace, read_ftrace_prefix, is_ftrace},
    {Format::perf, read_perf_prefix, is_perf},
}};

const TextFormat& row_of(Format format) {
  for (const TextFormat& row : kFormats)
    if (row.format == format) return row;
  return kFormats.front();
}

// Whether the line is one that recorders print between events: a header, a comment or part of a
// stack trace.
bool is_decoration(std::string_view line) {
  for (const std::string_view start : {"#", "cpus=", "CPU ", " => ", "\t", "version = "})
    if (line.starts_with(start)) return true;
  return line.find_first_not_of(" \t\f\v\r") == std::string_view::npos;
}

// Limits the text that holds no events: headers, comments, blank lines, stack traces and, if
// lenient, unreadable lines. A recorder writes some of these lines at the start and a few for each
// event, or a few dozen with a stack trace. The limit is a thousand times that. So a trace with
// long comments can still be read, but a compressed file of a few KiB cannot unpack to unlimited
// text.
class NoiseLimit {
 public:
  void add_event() { allowed_ += kPerEvent; }
  // Returns false once the limit is exceeded.
  [[nodiscard]] bool add(std::string_view line) {
    ++lines_;
    seen_ += std::max<std::uint64_t>(line.size(), kLeastLine);
    return seen_ <= allowed_;
  }
  [[nodiscard]] std::uint64_t lines() const { return lines_; }

 private:
  static constexpr std::uint64_t kLeastLine = 64;  // bytes: even a short line costs time
  static constexpr std::uint64_t kAtFirst = std::uint64_t{1} << 30;  // 16,777,216 short lines
  static constexpr std::uint64_t kPerEvent = std::uint64_t{1} << 16;

  std::uint64_t allowed_ = kAtFirst;
  std::uint64_t seen_ = 0;
  std::uint64_t lines_ = 0;
};

class TextTrace final : public Trace {
 public:
  TextTrace(std::unique_ptr<ByteSource> bytes, const TextFormat& format, std::string name,
            const ReadOptions& options)
      : Trace(std::move(name)),
        lines_(std::move(bytes)),
        read_prefix_(format.read_prefix),
        options_(options),
        batch_(kBatchEvents) {
    summary_.format = summary_.recorded_as = format.format;
    context_.criterion = CriterionReader(options.generation);
  }

  Result<std::span<const Event>> next() override {
    std::size_t filled = 0;
    while (filled < kBatchEvents && !ended_) {
      E4R_TRY(const bool more, lines_.next());
      if (!more) {
        end();
        break;
      }
      Event& event = batch_[filled];
      E4R_TRY(const bool made, read_line(lines_.line(), event));
      if (made) filled += summary_.add(event, only_);
    }
    update_summary();
    return std::span<const Event>(batch_.data(), filled);
  }

 private:
  // Turns a line into an event. Returns false if the line holds no event to deliver.
  Result<bool> read_line(std::string_view line, Event& event) {
    LineCursor scan(line);
    Prefix prefix;
    if (line.empty() || line.front() == '#' || !read_prefix_(scan, prefix))
      return read_odd_line(line, event);
    if (!lines_.terminated() && (!prefix.has_body || !lines_.source().warning().empty()))
      return cut_short();
    noise_.add_event();
    const auto kind = prefix.has_body ? kind_of(prefix.name) : std::nullopt;
    if (!kind) return read_unknown(prefix, scan, event);
    if (is_of_ldiskfs(prefix.name)) context_.of_ldiskfs = true;
    event = Event{};
    event.kind = *kind;
    event.cpu = prefix.cpu;
    event.pid = prefix.pid;
    last_time_ = event.time_ns = prefix.time_ns;
    if (!parse_body(scan, event, context_)) return report_malformed_body(event.kind);
    summary_.without_cpu += !prefix.has_cpu;
    if (!lines_.terminated())
      summary_.warnings.push_back(fmt::format("{}:{}: the last line has no newline: it may be cut",
                                              name(), lines_.number()));
    if (event.kind == EventKind::mballoc_alloc && context_.criterion.misread())
      E4R_CHECK(note_misread(context_, options_, fmt::format("{}:{}", name(), lines_.number()),
                             summary_));
    return true;
  }

  // Handles an event of an unknown kind. perf reports lost events in this form, too.
  Result<bool> read_unknown(const Prefix& prefix, LineCursor scan, Event& event) {
    if (!prefix.name.starts_with("PERF_RECORD_LOST")) {
      summary_.add_unknown(prefix.name);
      return false;
    }
    LostMarker marker = {prefix.cpu, 0};
    if (scan.literal("lost ")) (void)scan.number(marker.count);
    last_time_ = prefix.time_ns;
    make_lost(marker, event);
    return true;
  }

  // Handles a line without an event's prefix.
  Result<bool> read_odd_line(std::string_view line, Event& event) {
    if (line.starts_with("# entries-in-buffer/entries-written:")) read_entries(line);
    if (const auto marker = read_lost_marker(line)) {
      make_lost(*marker, event);
      return true;
    }
    if (!noise_.add(line))
      return error(
          "{}:{}: {} lines up to here are not events, more than any recorder writes: give a trace",
          name(), lines_.number(), format_count(noise_.lines()));
    if (is_decoration(line)) {
      const bool blank_start = !lines_.terminated() && line.starts_with(' ');
      return blank_start ? cut_short() : Result<bool>(false);
    }
    return report_malformed("this is not a line of {} output", format_name(summary_.format));
  }

  void make_lost(const LostMarker& marker, Event& event) {
    event = Event{};
    event.cpu = marker.cpu;
    event.count = marker.count;
    event.time_ns = last_time_;
  }

  // Reads "# entries-in-buffer/entries-written: 10/12   #P:1".
  void read_entries(std::string_view line) {
    LineCursor scan(line.substr(line.find(':') + 1));
    scan.spaces();
    std::uint64_t kept = 0, written = 0;
    if (!scan.number(kept) || !scan.ch('/') || !scan.number(written)) return;
    summary_.entries_in_buffer = kept;
    summary_.entries_written = written;
    summary_.overwritten = written > kept ? written - kept : 0;
  }

  // A malformed event that is not needed never ends the reading.
  Result<bool> report_malformed_body(EventKind kind) {
    if (lines_.terminated() && (options_.lenient || !options_.needed.contains(kind))) {
      summary_.add_malformed(kind);
      return false;
    }
    return report_malformed("malformed {} event: '{}' {}", event_name(kind), context_.problem_key,
                            context_.problem);
  }

  // Drops the last line if it has no newline and cannot be read, or if the input was truncated.
  bool cut_short() {
    summary_.warnings.push_back(
        fmt::format("{}:{}: the last line is truncated and was left out", name(), lines_.number()));
    return false;
  }

  // Handles an unreadable line. Skips a truncated last line and, if lenient, any line.
  template <class... Args>
  Result<bool> report_malformed(fmt::format_string<Args...> format, Args&&... args) {
    if (!lines_.terminated()) return cut_short();
    if (!options_.lenient)
      return error("{}:{}: {}; --lenient skips what cannot be read", name(), lines_.number(),
                   fmt::format(format, std::forward<Args>(args)...));
    ++summary_.skipped_lines;
    return false;
  }

  void end() {
    ended_ = true;
    if (std::string warning = lines_.source().warning(); !warning.empty()) {
      summary_.warnings.push_back(std::move(warning));
      ++summary_.damaged;
    }
  }

  void update_summary() {
    summary_.lines = lines_.number();
    report_bodies(context_, summary_);
  }

  LineReader lines_;
  bool (*read_prefix_)(LineCursor&, Prefix&);
  ReadOptions options_;
  const std::uint32_t* only_ = options_.device ? &*options_.device : nullptr;
  BodyContext context_;
  std::vector<Event> batch_;
  NoiseLimit noise_;
  std::uint64_t last_time_ = 0;
  bool ended_ = false;
};

}  // namespace

Format recognise_text(std::string_view head) {
  bool text = true;
  for (std::size_t at = 0; at < head.size();) {
    const std::size_t newline = head.find('\n', at);
    std::string_view line = head.substr(at, newline - at);
    at = newline == std::string_view::npos ? head.size() : newline + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    for (const TextFormat& row : kFormats)
      if (row.recognise(line)) return row.format;
    text &= is_decoration(line);
  }
  return text ? Format::ftrace : Format::unknown;  // only headers, or no text: an empty trace
}

std::unique_ptr<Trace> text_trace(std::unique_ptr<ByteSource> bytes, Format format,
                                  std::string name, const ReadOptions& options) {
  return std::make_unique<TextTrace>(std::move(bytes), row_of(format), std::move(name), options);
}

namespace {

// Whether the line is one of our events with raw fields: "dev=8388609 ino=12".
bool is_raw_event(std::string_view line) {
  Prefix prefix;
  LineCursor scan(line);
  if (!read_ftrace_prefix(scan, prefix) || !prefix.has_body || !kind_of(prefix.name)) return false;
  scan.spaces();
  return scan.word().find('=') != std::string_view::npos;
}

// Whether the line has the form "0.000 dd/1234 ext4:ext4_request_blocks(dev: 8388609, ino: 12, ..."
bool is_perf_trace(std::string_view line) {
  const std::size_t at = line.find(" ext4:ext4_");
  if (at == std::string_view::npos) return false;
  const std::size_t end = line.find_first_of(":(", at + sizeof " ext4:" - 1);
  return end != std::string_view::npos && line[end] == '(';
}

// Whether the line has the form " 8,0 3 1 0.000000000 697 G W 223490 + 8 [kjournald]".
bool is_blkparse(std::string_view line) {
  LineCursor s(line);
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
  // A Perfetto packet (protocol buffers): field 1, its length, and the packet's first field.
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
