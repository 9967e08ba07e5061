// SPDX-License-Identifier: GPL-2.0-or-later
#include "e4replay/cmd_trace.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

#include "app/trace_files.h"
#include "capture/capture.h"
#include "common/command.h"
#include "common/print_line.h"
#include "e4replay/convert_capture.h"
#include "e4replay/input_options.h"
#include "e4replay/trace_info.h"
#include "json/text.h"
#include "trace/exactness.h"
#include "trace/packed.h"
#include "trace/writer.h"
#include "util/file.h"
#include "util/units.h"

namespace e4r::tools {
namespace cmd_trace {
namespace {

using namespace trace;

// The options that every subcommand which reads a trace has.
struct TraceInput {
  std::string path;
  OpenOptions open;

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
    app.add_option("--device", parsed(parse_device, [this](std::uint32_t d) { open.device = d; }),
                   "take the events of this device (MAJOR:MINOR)");
    app.add_option("--generation",
                   parsed(parse_generation, [this](Generation g) { open.generation = g; }),
                   "the kernel that recorded it: 6.1, 6.5 (and later) or cr1.5; normally found out")
        .type_name("GEN");
  }

  // An option's callback: what does not parse is a usage error.
  template <class T, class Set>
  static std::function<Status(const std::string&)> parsed(Result<T> (*parse)(std::string_view),
                                                          Set set) {
    return [parse, set](const std::string& text) -> Status {
      E4R_TRY(const T value, parse(text));
      set(value);
      return {};
    };
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

// What a capture says of its recording.
Result<KnownOfRecording> known_of(const std::string& path) {
  KnownOfRecording known;
  if (!capture::is_capture(path)) return known;
  // `record` switches all events on that are wanted, and says so; of a mounted file system it
  // reads mb_groups first, and the kernel loads every buddy for that.
  E4R_TRY(const auto capture, capture::Capture::open(path));
  known.every_event = !capture.start().events.empty();
  known.buddies_loaded = capture.text(capture::text_name::kStartGroups) != nullptr ||
                         (known.every_event && !capture.start().mounted);
  return known;
}

Result<Inspection> inspect_file(const Info& options) {
  OpenOptions open = options.input.open;
  open.needed = KindSet::none();  // it says what cannot be read
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
  if (!options.json.empty()) E4R_CHECK(write_output(json_of(info), outputs.named(options.json)));
  return kDone;
}

// ---- convert

struct Convert {
  TraceInput input;
  std::string output;
  std::string image;  // to put into a capture, or to write of one
  bool anonymize = false;
};

// Reads `input`, writes what `keep` wants to `output`, and says how it went.
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

// Into a capture, an image is an input; of a capture, it is an output, with what lies beside.
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
  E4R_TRY(const int status, copy(options.input, outputs.named(options.output), nullptr));
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
  return copy(cut.input, outputs.named(cut.output),
              [&cut](const Event& e, std::uint64_t n) { return cut.wants(e, n); });
}

template <class Options>
std::shared_ptr<Options> declare_output(CommandLine& app) {
  auto options = std::make_shared<Options>();
  options->input.declare(app);
  app.add_option("OUT", options->output,
                 "the file to write: .e4t or .txt (ftrace text), with .zst "
                 "behind it to compress; convert makes .e4c as well")
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
                  "the start image: to put into an .e4c, with the files beside the trace; or to "
                  "write from an .e4c, with its notes")
      .type_name("FILE");
  convert_app.add_flag("--anonymize", convert->anonymize,
                       "to .e4c: without names and times, with other inode numbers; every decision "
                       "stays");

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

const Command kTraceCommand = {"trace", "look at traces, convert and cut them",
                               "  e4replay trace info run.trace.zst\n"
                               "  e4replay trace convert run.trace.zst run.e4t\n"
                               "  e4replay trace cut run.e4t begin.e4t --first 1000\n",
                               cmd_trace::declare};

}  // namespace e4r::tools
