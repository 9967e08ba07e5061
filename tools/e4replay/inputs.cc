// SPDX-License-Identifier: GPL-2.0-or-later
#include "e4replay/inputs.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <sstream>

#include "app/deciders.h"
#include "common/command.h"
#include "guest/kernel_file.h"
#include "replay/fit.h"
#include "replay/stream_goal_count.h"
#include "stats/mb_files.h"
#include "util/file.h"
#include "util/units.h"

namespace e4r::tools {
namespace {

std::string strip(const std::string& path, std::span<const std::string_view> endings) {
  for (const std::string_view ending : endings)
    if (path.size() > ending.size() && path.ends_with(ending))
      return path.substr(0, path.size() - ending.size());
  return path;
}

// The line of a NAME.tunables that is a kernel's release; empty when there is none.
std::string release_line(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (allocator::parse_release(line)) return line;
  return {};
}

struct RecordedKernel {
  allocator::Tunables tunables;
  std::string tunables_from;
  std::string release;
  replay::MountFacts mount;
};

// Takes the release too where nothing else has said it.
Status read_tunables(const InputOptions& options, const capture::Capture* capture,
                     std::uint32_t default_mount_options, RecordedKernel& recorded) {
  recorded.mount = replay::read_mount("", default_mount_options);
  E4R_TRY(const auto found, noted(options.tunables_file, capture, capture::text_name::kTunables,
                                  options.trace, "tunables"));
  if (!found) return {};
  recorded.mount = replay::read_mount(found->text, default_mount_options);
  if (allocator::read_recorded_tunables(recorded.tunables, found->text) == 0)
    return error("{}: no tunable in it: lines should read like 'mb_max_to_scan:200'", found->where);
  recorded.tunables_from = found->where;
  if (recorded.release.empty()) recorded.release = release_line(found->text);
  return {};
}

// The capture that one of the two is, if any.
Result<std::optional<capture::Capture>> open_capture(const InputOptions& options) {
  const std::string& path = options.trace.empty() ? options.image : options.trace;
  if (!capture::is_capture(path)) {
    if (options.trace.empty()) {
      if (::access(path.c_str(), R_OK) != 0) return error("{}: {}", path, errno_text(errno));
      std::error_code failed;
      return error("{}: is {}: give one, or a start image and its trace", path,
                   std::filesystem::is_directory(path, failed) ? "a directory, no capture (.e4c)"
                                                               : "no capture (.e4c)");
    }
    return std::optional<capture::Capture>();
  }
  E4R_TRY(capture::Capture capture, capture::Capture::open(path));
  if (options.trace.empty() && capture.image().empty())
    return error("{}: has no start image (--snapshot {}): give one in front of it", path,
                 capture.start().snapshot);
  return std::optional<capture::Capture>(std::move(capture));
}

// Whether there is a file system in that file.
bool is_image(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return false;
  image::OpenOptions open;
  open.load_bitmaps = false;
  return image::Image::open(path, open).ok();
}

// An option whose text is checked when the command line is read.
template <class T>
DeclaredOption add_checked(CommandLine& app, const char* name, std::string& value,
                           Result<T> (*parse)(std::string_view), const char* meaning) {
  return app.add_option(
      name,
      [&value, parse](const std::string& text) -> Status {
        if (const auto parsed = parse(text); !parsed.ok()) return parsed.error();
        value = text;
        return {};
      },
      meaning);
}

Result<trace::OpenOptions> trace_options(const TraceOptions& options) {
  trace::OpenOptions open;
  open.lenient = options.lenient;
  open.buffer = options.buffer;
  if (!options.device.empty()) {
    E4R_TRY(open.device, trace::parse_device(options.device));
  }
  if (!options.generation.empty()) {
    E4R_TRY(open.generation, trace::parse_generation(options.generation));
  }
  return open;
}

}  // namespace

Result<trace::PackedTrace> open_trace(const TraceOptions& options) {
  E4R_TRY(const trace::OpenOptions open, trace_options(options));
  return load_events(options.trace, open);
}

Result<std::unique_ptr<trace::Trace>> open_events(const std::string& path,
                                                  const trace::OpenOptions& options) {
  if (!capture::is_capture(path)) return trace::open_trace(path, options);
  E4R_TRY(const capture::Capture capture, capture::Capture::open(path));
  return capture.open_trace(options);
}

Result<trace::PackedTrace> load_events(const std::string& path, const trace::OpenOptions& options) {
  if (!capture::is_capture(path)) return trace::load_packed(path, options);
  E4R_TRY(const capture::Capture capture, capture::Capture::open(path));
  return capture.load_trace(options);
}

void declare_inputs(CommandLine& app, InputOptions& o) {
  app.add_option("image", o.image,
                 "start image: the file system as it was before the trace; or a capture "
                 "(`e4replay record`), which needs nothing else")
      .required()
      .type_name("IMAGE|FILE.e4c");
  app.add_option("trace", o.trace,
                 "trace (ftrace, trace-cmd, perf text, trace.dat, .e4t, .e4c; .gz, .zst; -)")
      .type_name("TRACE");
  app.add_option("--set", o.settings, "set a tunable; may be given again")
      .type_name("NAME=VALUE")
      .may_repeat();
  app.add_option("--tunables", o.tunables_file,
                 "the recorded kernel's tunables (default: NAME.tunables beside the trace)")
      .type_name("FILE");
  add_checked(app, "--device", o.device, trace::parse_device,
              "device in the trace (default: the only or busiest one)")
      .type_name("MAJ:MIN");
  add_checked(app, "--generation", o.generation, trace::parse_generation,
              "kernel that printed the trace: 6.1, 6.5 or cr1.5")
      .type_name("GEN");
  app.add_option("--buffer", o.buffer, "of a trace.dat, this instance only; '': the top buffer")
      .type_name("NAME");
  app.add_flag("--lenient", o.lenient, "skip malformed trace lines instead of stopping");
  app.add_flag("--strict", o.strict, "stop at a damaged group instead of leaving it out");
  app.add_flag("--check", o.check, "verify the allocator's invariants on the way");
  app.add_option(
         "--explain",
         [&o](const std::string& text) -> Status {
           E4R_TRY(o.explain, parse_u64(text));
           return o.explain != 0 ? Status() : error("--explain 0: decisions are counted from 1");
         },
         "write down decision N: request, goal, groups and why, result")
      .type_name("N");
  app.add_option("--json", o.json, "write JSON to FILE as well; -: instead of the text")
      .type_name("FILE");
  app.add_option("--threads", o.threads, "threads to use (default: one per CPU)").type_name("N");
  app.add_flag("--no-progress", o.no_progress, "no progress line on the terminal");
}

std::string name_beside(const std::string& trace, const std::string& suffix) {
  static constexpr std::array<std::string_view, 2> kPacked = {".zst", ".gz"};
  static constexpr std::array<std::string_view, 5> kTraces = {".trace", ".e4t", ".txt", ".perf",
                                                              ".dat"};
  return strip(strip(trace, kPacked), kTraces) + "." + suffix;
}

std::string beside(const std::string& trace, const std::string& suffix) {
  const std::string path = name_beside(trace, suffix);
  std::error_code ec;
  return std::filesystem::is_regular_file(path, ec) ? path : std::string();
}

void declare_trace_reads(const std::string& path, Outputs& outputs) {
  outputs.reads(path);
  for (const char* suffix : {"tunables", "mb_groups", "mb_stats"})
    outputs.reads(name_beside(path, suffix));
}

void declare_reads(const InputOptions& options, Outputs& outputs) {
  outputs.reads(options.image);
  outputs.reads(options.tunables_file);
  declare_trace_reads(options.trace.empty() ? options.image : options.trace, outputs);
}

Result<std::optional<NotedText>> noted(const std::string& given, const capture::Capture* capture,
                                       std::string_view in_capture, const std::string& trace,
                                       const std::string& suffix) {
  if (given.empty() && capture != nullptr) {
    const std::string* text = capture->text(in_capture);
    if (text == nullptr) return std::optional<NotedText>();
    return std::optional(NotedText{fmt::format("{}: {}", capture->path(), in_capture), *text});
  }
  const std::string path = !given.empty() ? given : beside(trace, suffix);
  if (path.empty()) return std::optional<NotedText>();
  E4R_TRY(std::string text, read_file(path));
  return std::optional(NotedText{path, std::move(text)});
}

// Kernels of 6.17 and later have as many stream goals as CPUs are possible. When nobody has noted
// how many those are, the trace shows it.
Status find_possible_cpus(const InputOptions& options, const trace::PackedTrace& trace,
                          std::uint32_t groups, allocator::Tunables& recorded) {
  const bool given =
      std::any_of(options.settings.begin(), options.settings.end(),
                  [](const std::string& setting) { return setting.starts_with("possible_cpus="); });
  if (given || recorded.possible_cpus != 0 || trace.summary().streams_without_start == 0) return {};
  const auto events = trace.cursor();
  E4R_TRY(const replay::StreamGoalCount found, replay::count_stream_goals(*events, groups));
  recorded.possible_cpus = found.goals;
  warn(
      fmt::format("how many CPUs were possible is not recorded: {}, which explains {} of {} stream "
                  "goals; --set possible_cpus=N says otherwise",
                  found.goals, format_count(found.explained), format_count(found.searches)));
  return {};
}

// What the file system of a capture held in memory when recording began.
Result<replay::WarmStart> find_warm_start(const Inputs& inputs) {
  std::vector<state::MbGroup> shown;
  if (const std::string* text = inputs.capture->text(capture::text_name::kStartGroups)) {
    auto groups = stats::parse_mb_groups(*text);
    if (!groups.ok())
      return error("{}: {}: {}", inputs.capture->path(), capture::text_name::kStartGroups,
                   groups.error().message);
    shown = *std::move(groups);
  }
  return replay::deduce_warm_start(inputs.source, *inputs.trace.cursor(), shown,
                                   inputs.recorded.mb_stream_req);
}

Result<Inputs> open_inputs(const InputOptions& given, Progress& progress) {
  E4R_TRY(std::optional<capture::Capture> capture, open_capture(given));
  InputOptions options = given;
  if (options.trace.empty()) options.trace = options.image;
  const bool own_image = capture && given.trace.empty();
  const std::string image_path = own_image ? capture->image().path() : options.image;
  image::OpenOptions open;
  open.strict = options.strict;
  open.threads = options.threads;
  open.name = options.image;
  progress.show("reading " + options.image);
  auto opened = image::Image::open(image_path, open);
  if (!opened.ok() && is_image(given.trace))
    return error("{}: is no image, but {} is one: give the start image first, then its trace",
                 options.image, given.trace);
  if (!opened.ok()) return std::move(opened).error();
  image::Image image = *std::move(opened);
  progress.show("reading " + options.trace);
  E4R_TRY(const trace::OpenOptions events, trace_options(options));
  E4R_TRY(trace::PackedTrace trace,
          capture ? capture->load_trace(events) : trace::load_packed(options.trace, events));
  progress.wipe();
  if (capture)
    for (const std::string& note : capture->notes()) warn(note);
  for (const std::string& warning : image.warnings()) warn(warning);
  for (const std::string& note : trace.notes()) warn(note);
  state::Source source = replay::source_from(image);
  if (const Status fit = replay::check_fit(source.geometry, *trace.cursor()); !fit.ok())
    return error("{}: not a trace of {}: {}; give the image from before the trace", options.trace,
                 options.image, fit.error().message);
  RecordedKernel recorded = {allocator::defaults_for(source.geometry),
                             {},
                             capture ? capture->start().kernel : trace.summary().kernel,
                             {}};
  E4R_CHECK(read_tunables(options, capture ? &*capture : nullptr,
                          image.superblock().default_mount_opts, recorded));
  source.geometry.data_writeback = recorded.mount.data_writeback;
  E4R_CHECK(find_possible_cpus(options, trace, source.geometry.groups, recorded.tunables));
  Inputs out = {std::move(capture),
                image_path,
                options.image,
                std::move(image),
                std::move(trace),
                std::move(source),
                recorded.tunables,
                std::move(recorded.tunables_from),
                std::move(recorded.release),
                recorded.mount,
                std::nullopt};
  if (own_image && out.capture->start().mounted) {
    E4R_TRY(out.warm, find_warm_start(out));
  }
  return out;
}

void warn_of_cold_kernel(const allocator::Policy& policy, const Inputs& inputs) {
  if (!guest::is_kernel(policy) || !inputs.warm) return;
  const std::size_t preallocs = inputs.warm->preallocs.size();
  const std::size_t streams = inputs.warm->streams.size();
  if (preallocs == 0 && streams == 0) return;
  warn(
      fmt::format("{} begins without what the file system held in memory when recording began: {} "
                  "preallocations, {} stream goals",
                  policy.name, format_count(preallocs), format_count(streams)));
}

replay::Setup make_setup(const allocator::Policy& policy, const allocator::Tunables& tunables,
                         const Inputs& inputs) {
  replay::Setup out = {&policy, tunables};
  if (!guest::is_kernel(policy)) return out;
  out.make = [&inputs](const replay::Setup& setup, const replay::WarmStart* warm) {
    return app::make_decider(*setup.policy, setup.tunables,
                             {inputs.source, inputs.image_path, inputs.image_name},
                             warm != nullptr);
  };
  return out;
}

std::vector<const allocator::Policy*> with_neighbours(std::string_view recorded) {
  struct Neighbours {
    std::string_view policy, before, after;
  };
  constexpr std::array<Neighbours, 6> kNeighbours = {{{"legacy", "", "linux-6.12"},
                                                      {"cr1.5", "legacy", ""},
                                                      {"linux-6.5", "legacy", "linux-6.12"},
                                                      {"linux-6.14", "legacy", "linux-6.12"},
                                                      {"linux-6.12", "legacy", "linux-7.3"},
                                                      {"linux-7.3", "linux-6.12", ""}}};
  std::vector<const allocator::Policy*> out = {allocator::find_policy(recorded)};
  for (const Neighbours& row : kNeighbours)
    if (row.policy == recorded)
      for (const std::string_view name : {row.before, row.after})
        if (!name.empty()) out.push_back(allocator::find_policy(name));
  return out;
}

Status apply_settings(allocator::Tunables& tunables, const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) E4R_CHECK(allocator::set_tunable(tunables, setting));
  return {};
}

replay::SessionOptions session_options(const InputOptions& options, const Inputs& inputs,
                                       Progress& progress) {
  replay::SessionOptions out;
  out.threads = options.threads;
  out.check = options.check;
  out.warm = inputs.warm;
  out.release = inputs.release;
  if (progress.active())
    out.progress = [&progress, total = inputs.trace.events()](const char* what, std::uint64_t n) {
      progress.show(fmt::format("{}: {} of {} events", what, format_count(n), format_count(total)));
    };
  return out;
}

report::ReplayReport start_report(const InputOptions& options, const Inputs& inputs) {
  report::ReplayReport out;
  out.image_path = options.image;
  out.superblock = inputs.image.superblock();
  out.bad_groups = inputs.image.bad_groups().size();
  out.trace_path = inputs.trace.name();
  out.device = trace::device_name(inputs.trace.device());
  out.trace = inputs.trace.summary();
  out.release = inputs.release;
  if (inputs.mount.discard)
    out.not_modelled.push_back({"discard",
                                "mounted with discard: what a commit frees is usable only when the "
                                "device has dropped it"});
  const std::uint32_t block_bits = inputs.source.geometry.block_bits;
  stats::SettledFree before = stats::source_free(inputs.source, stats::mebibyte_bits(block_bits));
  out.before = before.extents;
  out.space_before = std::move(before.space);
  return out;
}

Result<std::string> explained(const InputOptions& options, const replay::Run& run) {
  if (options.explain == 0) return std::string();
  std::string text = run.engine->explanation(options.explain);
  if (!text.empty()) return text;
  return error("--explain {}: the trace decides {} times, or this range had been served before",
               options.explain, run.engine->decisions());
}

}  // namespace e4r::tools
