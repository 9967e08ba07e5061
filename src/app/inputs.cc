// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/inputs.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sstream>

#include "replay/fit.h"
#include "replay/stream_goal_count.h"
#include "stats/mb_files.h"
#include "util/file.h"
#include "util/pasted.h"
#include "util/units.h"

namespace e4r::app {
namespace {

// The first line of a NAME.tunables that is a kernel's release; empty without such a line.
std::string release_line(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line = std::string(trimmed(line));
    if (allocator::parse_release(line)) return line;
  }
  return {};
}

struct RecordedKernel {
  allocator::Tunables tunables;
  std::string tunables_from;
  std::string release;
  replay::MountFacts mount;
};

// Reads the tunables. Also takes the release if it is not known yet.
Status read_tunables(const InputOptions& options, const capture::Capture* capture,
                     std::uint32_t default_mount_options, RecordedKernel& recorded) {
  recorded.mount = replay::read_mount("", default_mount_options);
  E4R_TRY(const auto found, noted(options.tunables_file, capture, capture::text_name::kTunables,
                                  options.trace, "tunables"));
  if (!found) return {};
  recorded.mount = replay::read_mount(found->text, default_mount_options);
  if (allocator::read_recorded_tunables(recorded.tunables, found->text) == 0)
    return error("{}: has no tunable: lines should read like 'mb_max_to_scan:200'", found->where);
  recorded.tunables_from = found->where;
  if (recorded.release.empty()) recorded.release = release_line(found->text);
  return {};
}

// Opens the trace as a capture, or the image if there is no trace. Returns nothing for a trace that
// is not a capture.
Result<std::optional<capture::Capture>> open_capture(const InputOptions& options) {
  const std::string& path = options.trace.empty() ? options.image : options.trace;
  if (!capture::is_capture(path)) {
    if (options.trace.empty()) {
      if (::access(path.c_str(), R_OK) != 0) return error("{}: {}", path, errno_text(errno));
      std::error_code failed;
      return error("{}: is {}: give one, or a start image and its trace", path,
                   std::filesystem::is_directory(path, failed) ? "a directory, not a capture (.e4c)"
                                                               : "not a capture (.e4c)");
    }
    return std::optional<capture::Capture>();
  }
  E4R_TRY(capture::Capture capture, capture::Capture::open(path));
  if (options.trace.empty() && capture.image().empty())
    return error("{}: has no start image (--snapshot {}): give one in front of it", path,
                 capture.start().snapshot);
  return std::optional<capture::Capture>(std::move(capture));
}

// Whether the file holds a file system.
bool is_image(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return false;
  image::OpenOptions open;
  open.load_bitmaps = false;
  return image::Image::open(path, open).ok();
}

// Kernels from 6.17 on have one stream goal for each possible CPU. If the number of possible CPUs
// was not recorded, derives it from the trace.
Status find_possible_cpus(const InputOptions& options, const trace::PackedTrace& trace,
                          std::uint32_t groups, const Listener& listener,
                          allocator::Tunables& recorded) {
  const bool given =
      std::any_of(options.settings.begin(), options.settings.end(),
                  [](const std::string& setting) { return setting.starts_with("possible_cpus="); });
  if (given || recorded.possible_cpus != 0 || trace.summary().streams_without_start == 0) return {};
  const auto events = trace.cursor();
  E4R_TRY(const replay::StreamGoalCount found, replay::count_stream_goals(*events, groups));
  recorded.possible_cpus = found.goals;
  listener.warn(
      fmt::format("the number of possible CPUs is not recorded: using {}, which explains {} of {} "
                  "stream goals; --set possible_cpus=N gives another number",
                  found.goals, format_count(found.explained), format_count(found.searches)));
  return {};
}

// Deduces what the file system of a capture held in memory when recording began.
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

}  // namespace

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
  E4R_TRY(const std::string text, read_file(path));
  return std::optional(NotedText{path, unix_lines(text)});
}

Result<Inputs> open_inputs(const InputOptions& given, const Listener& listener) {
  E4R_TRY(std::optional<capture::Capture> capture, open_capture(given));
  InputOptions options = given;
  if (options.trace.empty()) options.trace = options.image;
  options.needed = trace::KindSet::wanted(trace::Purpose::allocator);
  const bool own_image = capture && given.trace.empty();
  const std::string image_path = own_image ? capture->image().path() : options.image;
  image::OpenOptions open;
  open.strict = options.strict;
  open.threads = options.threads;
  open.name = options.image;
  listener.progress.show("reading " + options.image);
  auto opened = image::Image::open(image_path, open);
  if (!opened.ok() && is_image(given.trace))
    return error("{}: is not an image, but {} is: give the start image first, then its trace",
                 options.image, given.trace);
  if (!opened.ok()) return std::move(opened).error();
  image::Image image = *std::move(opened);
  listener.progress.show("reading " + options.trace);
  E4R_TRY(const trace::OpenOptions events, open_options(options));
  state::Source source = replay::source_from(image);
  replay::DeviceFit fit(source.geometry);
  E4R_TRY(trace::PackedTrace trace, capture ? capture->load_trace(events, &fit)
                                            : trace::load_packed(options.trace, events, &fit));
  listener.progress.wipe();
  if (capture)
    for (const std::string& note : capture->notes()) listener.warn(note);
  for (const std::string& warning : image.warnings()) listener.warn(warning);
  for (const std::string& note : trace.notes()) listener.warn(note);
  if (const Status verdict = fit.verdict(); !verdict.ok())
    return error("{}: not a trace of {}: {}; give the image from before the trace", options.trace,
                 options.image, verdict.error().message);
  RecordedKernel recorded = {allocator::defaults_for(source.geometry),
                             {},
                             capture ? capture->start().kernel : trace.summary().kernel,
                             {}};
  E4R_CHECK(read_tunables(options, capture ? &*capture : nullptr,
                          image.superblock().default_mount_opts, recorded));
  source.geometry.data_writeback = recorded.mount.data_writeback;
  source.geometry.discard = recorded.mount.discard;
  E4R_CHECK(
      find_possible_cpus(options, trace, source.geometry.groups, listener, recorded.tunables));
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

}  // namespace e4r::app
