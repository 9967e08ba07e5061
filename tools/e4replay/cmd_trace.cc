// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "app/inputs.h"
#include "capture/capture.h"
#include "common/command.h"
#include "common/print_line.h"
#include "e4replay/convert_capture.h"
#include "e4replay/options.h"
#include "json/text.h"
#include "trace/inspection.h"
#include "trace/packed.h"
#include "trace/trace.h"
#include "trace/writer.h"
#include "util/file.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::tools {
namespace cmd_trace {
namespace {

using namespace trace;

constexpr double kSecond = 1e9;

std::string seconds(std::uint64_t ns) {
  return fmt::format("{:.6f}", static_cast<double>(ns) / kSecond);
}

// Lines of the form "label   value". Values may contain foreign text.
class Lines {
 public:
  template <class... A>
  void add(std::string_view label, fmt::format_string<A...> format, A&&... args) {
    fmt::format_to(std::back_inserter(out_), "{:<17} ", label);
    out_ += escape(fmt::format(format, std::forward<A>(args)...)) + '\n';
  }
  void list(std::string_view title, const std::vector<std::string>& items) {
    if (items.empty()) return;
    fmt::format_to(std::back_inserter(out_), "{}:\n", title);
    for (const std::string& item : items)
      fmt::format_to(std::back_inserter(out_), "  - {}\n", escape(item));
  }
  void count(std::string_view name, std::uint64_t count) {
    fmt::format_to(std::back_inserter(out_), "  {:<33} {:>15}\n", escape(name),
                   format_count(count));
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

std::string format_text(const TraceSummary& s) {
  if (s.format == s.recorded_as || s.recorded_as == Format::unknown)
    return std::string(format_name(s.format));
  return fmt::format("{}, from {}", format_name(s.format), format_name(s.recorded_as));
}

std::string generation_text(const TraceSummary& s) {
  if (s.generation == Generation::unknown) return "unknown: no search was recorded";
  if (s.older_than != OlderThan::unknown)
    return fmt::format("{}, judging by its words", kernel_of(s));
  if (s.streams_without_start > 0)
    return fmt::format("{} ({} searches for streams have no start in their goal)", kernel_of(s),
                       format_count(s.streams_without_start));
  if (!s.generation_guessed || !s.kernel.empty()) return std::string(generation_name(s.generation));
  return fmt::format(
      "{} or another before 6.5, judging by criteria that are digits up to 3 (6.5 and 6.6 print "
      "digits too: if it was one of these, give --generation 6.5)",
      generation_name(s.generation));
}

std::string cpu_text(const TraceSummary& s) {
  std::string out;
  for (std::size_t cpu = 0; cpu < s.cpus.size(); ++cpu)
    if (s.cpus[cpu] > 0) out += fmt::format("{}{}", out.empty() ? "" : ", ", cpu);
  return out.empty() ? "none" : out;
}

std::string lost_text(const TraceSummary& s) {
  if (!s.lost_any()) return "none";
  std::string out = format_count(s.lost_events + s.overwritten);
  if (s.lost_uncounted > 0) out += " and more";
  return out;
}

// Returns the notes that are not also in the list of obstacles.
std::vector<std::string> notes_of(const Inspection& info) {
  std::vector<std::string> out = info.notes;
  std::erase_if(out, [&](const std::string& note) {
    return std::ranges::find(info.obstacles, note) != info.obstacles.end();
  });
  return out;
}

void device_lines(Lines& lines, const Inspection& info) {
  for (const DeviceCount& d : info.summary.devices)
    lines.add(&d == &info.summary.devices.front() ? "devices" : "", "{}: {} events, {} requests{}",
              device_name(d.dev), format_count(d.events), format_count(d.requests),
              d.dev == info.device && info.summary.devices.size() > 1 ? " (shown below)" : "");
}

// The text of `e4replay trace info` about a trace.
std::string info_text(const Inspection& info) {
  const TraceSummary& s = info.summary;
  Lines lines;
  lines.add("trace", "{}", info.name);
  lines.add("format", "{}", format_text(s));
  lines.add("kernel", "{}", generation_text(s));
  if (!s.kernel.empty()) lines.add("release", "{}", s.kernel);
  if (!s.clock.empty()) lines.add("clock", "{}", s.clock);
  device_lines(lines, info);
  lines.add("CPUs", "{}", cpu_text(s));
  lines.add("time", "{} to {} s ({} s)", seconds(s.first_ns), seconds(s.last_ns),
            seconds(s.last_ns - s.first_ns));
  lines.add("lost events", "{}", lost_text(s));
  lines.add("requests", "{}", format_count(s.count(EventKind::request_blocks)));
  lines.add("events", "{}", format_count(s.events));
  for (int k = 0; k < kEventKinds; ++k)
    if (const auto kind = static_cast<EventKind>(k); s.count(kind) > 0)
      lines.count(event_name(kind), s.count(kind));
  if (!s.unknown_events.empty()) lines.add("other events", "(not used)");
  for (const NameCount& other : s.unknown_events) lines.count(other.name, other.count);
  lines.list("notes", notes_of(info));
  lines.list("missing for an exact replay, or preventing it", info.obstacles);
  if (info.obstacles.empty()) lines.add("exact replay", "nothing is missing");
  lines.list("remarks", info.remarks);
  return lines.take();
}

// The value of "trace" in the JSON of schema e4replay-trace-info/1.
boost::json::object info_json(const Inspection& info) {
  const TraceSummary& s = info.summary;
  boost::json::object events, unknown;
  for (int k = 0; k < kEventKinds; ++k)
    if (const auto kind = static_cast<EventKind>(k); s.count(kind) > 0)
      events[event_name(kind)] = s.count(kind);
  for (const NameCount& other : s.unknown_events) unknown[other.name] = other.count;
  boost::json::array devices, cpus;
  for (const DeviceCount& d : s.devices)
    devices.push_back(
        {{"device", device_name(d.dev)}, {"events", d.events}, {"requests", d.requests}});
  for (std::size_t cpu = 0; cpu < s.cpus.size(); ++cpu)
    if (s.cpus[cpu] > 0) cpus.push_back({{"cpu", cpu}, {"events", s.cpus[cpu]}});
  const auto strings = [](const std::vector<std::string>& list) {
    return boost::json::array(list.begin(), list.end());
  };
  return {{"name", info.name},
          {"format", format_name(s.format)},
          {"recorded_as", format_name(s.recorded_as)},
          {"generation", kernel_of(s)},
          {"generation_guessed", s.generation_guessed},
          {"release", s.kernel},
          {"clock", s.clock},
          {"device", device_name(info.device)},
          {"devices", devices},
          {"cpus", cpus},
          {"first_s", static_cast<double>(s.first_ns) / kSecond},
          {"last_s", static_cast<double>(s.last_ns) / kSecond},
          {"lines", s.lines},
          {"events", s.events},
          {"requests", s.count(EventKind::request_blocks)},
          {"requests_with_inputs", s.requests_with_inputs},
          {"events_by_kind", events},
          {"other_events", unknown},
          {"lost_events", s.lost_events + s.overwritten},
          {"lost_uncounted", s.lost_uncounted},
          {"skipped_lines", s.skipped_lines},
          {"notes", strings(info.notes)},
          {"obstacles", strings(info.obstacles)},
          {"remarks", strings(info.remarks)}};
}

// The options of every subcommand that reads a trace.
struct TraceInput {
  std::string path;
  ReadOptions open;

  void declare(CommandLine& app) {
    app.add_option("TRACE", path,
                   "ftrace, trace-cmd report or perf script text, a trace-cmd recording "
                   "(trace.dat), or .e4t; plain, .gz or .zst; - for standard input")
        .required();
    app.add_flag("--lenient", open.lenient,
                 "skip malformed lines and damaged data, and count them");
    app.add_flag("--any-ratio", open.any_ratio, kAnyRatioHelp);
    app.add_option("--buffer", open.buffer,
                   "of a trace.dat, the events of this instance only; '' is the top buffer");
    app.add_option("--device", open.device, parse_device,
                   "take the events of this device (MAJOR:MINOR)");
    app.add_option("--generation", open.generation, parse_generation,
                   "the kernel that recorded it: 6.1, 6.5 (and later) or cr1.5; normally detected")
        .type_name("GEN");
  }
};

void say_notes(const TraceSummary& summary) {
  for (const std::string& note : notes(summary)) warn(note);
}

// ---- info

struct Info {
  TraceInput input;
  std::string json;
};

// Returns the facts that a capture contains about its own recording.
Result<KnownOfRecording> known_of(const std::string& path) {
  KnownOfRecording known;
  if (!capture::is_capture(path)) return known;
  // The capture lists the events that `record` switched on. If the file system was mounted,
  // `record` read mb_groups first, which made the kernel load every buddy.
  E4R_TRY(const auto capture, capture::Capture::open(path));
  known.every_event = !capture.start().events.empty();
  known.buddies_loaded = capture.text(capture::text_name::kStartGroups) != nullptr ||
                         (known.every_event && !capture.start().mounted);
  return known;
}

Result<Inspection> inspect_file(const Info& options) {
  ReadOptions open = options.input.open;
  open.needed = KindSet::none();  // accepts any trace; the report says what cannot be read
  open.late_generation = true;
  E4R_TRY(const KnownOfRecording known, known_of(options.input.path));
  E4R_TRY(const auto trace, app::open_events(options.input.path, open));
  return inspect(*trace, open.device, known);
}

std::string json_of(const Inspection& info) {
  return json_line({{"schema", "e4replay-trace-info/1"}, {"trace", info_json(info)}}) + "\n";
}

Result<int> run_info(const Info& options) {
  Outputs outputs;
  app::declare_trace_reads(options.input.path, outputs);
  E4R_CHECK(outputs.writes(options.json));
  E4R_TRY(const Inspection info, inspect_file(options));
  if (options.json != "-") print_report(info_text(info));
  if (!options.json.empty()) E4R_CHECK(write_output(json_of(info), outputs.name_of(options.json)));
  return kDone;
}

// ---- convert

struct Convert {
  TraceInput input;
  std::string output;
  std::string image;  // an image to store in a capture, or to write from one
  bool anonymize = false;
};

// Reads `input`, writes the events selected by `keep` to `output`, and reports the result.
Result<int> copy(const TraceInput& input, const OutputName& output, const EventFilter& keep) {
  E4R_TRY(const auto source, app::open_events(input.path, input.open));
  E4R_TRY(const auto writer, TraceWriter::create(output));
  E4R_TRY(const std::uint64_t written, copy_trace(*source, *writer, keep));
  say_notes(source->summary());
  if (written == 0) warn(fmt::format("{}: no events were written", output.path()));
  print_line("{}: {} of {} events", output.path(), format_count(written),
             format_count(source->summary().events));
  return kDone;
}

// If a capture is made, the image is an input. If a capture is converted, it is an output, like the
// files next to the trace.
Result<Outputs> declare_files(const Convert& options, bool to_capture) {
  Outputs outputs;
  app::declare_trace_reads(options.input.path, outputs);
  if (to_capture) outputs.reads(options.image);
  E4R_CHECK(outputs.writes(options.output));
  if (to_capture || options.image.empty()) return outputs;
  E4R_CHECK(outputs.writes(options.image, OutputKind::file));
  for (const std::string& path : files_beside(options.output)) E4R_CHECK(outputs.writes(path));
  return outputs;
}

Result<int> run_convert(const Convert& options) {
  const bool to_capture = options.output.ends_with(".e4c");
  if (options.anonymize && !to_capture)
    return usage_error("--anonymize writes captures: name the output .e4c");
  if (!to_capture) {
    E4R_CHECK(TraceWriter::check_name(options.output));
    if (!options.image.empty() && !capture::is_capture(options.input.path))
      return usage_error("--image is for captures (.e4c): to make one of a trace, or files of one");
  }
  E4R_TRY(const Outputs outputs, declare_files(options, to_capture));
  const CaptureConversion conversion = {options.input.path, options.input.open, options.output,
                                        options.image,      options.anonymize,  outputs};
  if (to_capture) {
    E4R_CHECK(make_capture(conversion));
    return kDone;
  }
  E4R_TRY(const int status, copy(options.input, outputs.name_of(options.output), nullptr));
  if (!options.image.empty()) E4R_CHECK(write_files_of_capture(conversion));
  return status;
}

// ---- cut

struct Cut {
  TraceInput input;
  std::string output;
  double from = 0, to = INFINITY;
  std::uint64_t first = UINT64_MAX;
  std::uint64_t begin = 1, end = UINT64_MAX;

  Status set_range(const std::string& text) {
    const auto dash = text.find('-');
    const auto low = parse_u64(text.substr(0, dash));
    const auto high = parse_u64(dash == std::string::npos ? "" : text.substr(dash + 1));
    if (!low.ok() || !high.ok() || *low == 0 || *high < *low)
      return error("'{}' is not a range of events: give FIRST-LAST, from 1", text);
    begin = *low;
    end = *high;
    return {};
  }
  [[nodiscard]] bool wants(const Event& e, std::uint64_t number) const {
    const double time = static_cast<double>(e.time_ns) / 1e9;
    return number >= begin && number <= end && number <= first && time >= from && time <= to;
  }
};

Result<int> run_cut(const Cut& cut) {
  if (cut.first == 0) return usage_error("--first 0: give at least 1");
  if (cut.from > cut.to)
    return usage_error(fmt::format("--from {} is later than --to {}", cut.from, cut.to));
  E4R_CHECK(TraceWriter::check_name(cut.output));
  Outputs outputs;
  app::declare_trace_reads(cut.input.path, outputs);
  E4R_CHECK(outputs.writes(cut.output));
  return copy(cut.input, outputs.name_of(cut.output),
              [&cut](const Event& e, std::uint64_t n) { return cut.wants(e, n); });
}

template <class Options>
std::shared_ptr<Options> declare_output(CommandLine& app) {
  auto options = std::make_shared<Options>();
  options->input.declare(app);
  app.add_option("OUT", options->output,
                 "the file to write: .e4t or .txt (ftrace text), followed by .zst to compress it; "
                 "convert also makes .e4c")
      .required();
  return options;
}

void declare_cut_options(CommandLine& app, Cut& cut) {
  app.add_option("--from", cut.from, "begin at this time, in seconds as in the trace");
  app.add_option("--to", cut.to, "end at this time");
  app.add_option("--first", cut.first, "take this many events");
  app.add_option(
      "--events", [&cut](const std::string& text) { return cut.set_range(text); },
      "take events FIRST-LAST, counted from 1");
}

std::function<Result<int>()> declare(CommandLine& app) {
  app.require_subcommand();
  CommandLine info_app =
      app.add_subcommand("info", "what is in a trace, and what an exact replay lacks",
                         "  e4replay trace info run.trace.zst\n"
                         "  ssh host cat trace | e4replay trace info -\n"
                         "  e4replay trace info --json - run.e4t\n");
  const auto info = std::make_shared<Info>();
  info->input.declare(info_app);
  info_app.add_option("--json", info->json, "write it as JSON to this file; - instead of text")
      .type_name("FILE");

  CommandLine convert_app =
      app.add_subcommand("convert", "pack a trace into .e4t, or print one as ftrace text",
                         "  e4replay trace convert trace.txt.gz trace.e4t\n"
                         "  perf script --ns | e4replay trace convert - trace.e4t.zst\n"
                         "  e4replay trace convert trace.dat trace.e4t\n"
                         "  e4replay trace convert trace.e4t trace.txt\n"
                         "  e4replay trace convert run.trace.zst run.e4c --image start.img\n"
                         "  e4replay trace convert run.e4c run.e4t --image start.img\n"
                         "  e4replay trace convert run.e4c to-share.e4c --anonymize\n");
  const auto convert = declare_output<Convert>(convert_app);
  convert_app
      .add_option("--image", convert->image,
                  "the start image: to put into an .e4c, with the files next to the trace; or to "
                  "extract from an .e4c, with its notes")
      .type_name("FILE");
  convert_app.add_flag(
      "--anonymize", convert->anonymize,
      "to .e4c: leave out names and times and renumber inodes; every decision stays the same");

  CommandLine cut_app =
      app.add_subcommand("cut", "write a part of a trace",
                         "  e4replay trace cut run.e4t begin.e4t --first 1000\n"
                         "  e4replay trace cut run.e4t part.txt --from 12.5 --to 13\n"
                         "  e4replay trace cut all.zst one.e4t --device 8:1\n");
  const auto cut = declare_output<Cut>(cut_app);
  declare_cut_options(cut_app, *cut);

  return [=]() -> Result<int> {
    if (info_app.parsed()) return run_info(*info);
    if (convert_app.parsed()) return run_convert(*convert);
    return run_cut(*cut);
  };
}

}  // namespace
}  // namespace cmd_trace

const Command& trace_command() {
  static const Command kCommand = {"trace", "look at traces, convert and cut them",
                                   "  e4replay trace info run.trace.zst\n"
                                   "  e4replay trace convert run.trace.zst run.e4t\n"
                                   "  e4replay trace cut run.e4t begin.e4t --first 1000\n",
                                   cmd_trace::declare};
  return kCommand;
}

}  // namespace e4r::tools
