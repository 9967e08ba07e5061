// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/inputs.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <set>
#include <span>
#include <sstream>

#include "capture/capture.h"
#include "replay/accounts.h"
#include "replay/checkpoint.h"
#include "replay/intake.h"
#include "stats/mb_files.h"
#include "util/file.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::app {

Result<OpenedImage> open_image(const std::string& name, image::OpenOptions options) {
  std::optional<capture::Capture> capture;
  std::string path = name;
  if (capture::is_capture(name)) {
    E4R_TRY(capture, capture::Capture::open(name));
    if (capture->image().empty())
      return error("{}: has no start image (--snapshot {})", name, capture->start().snapshot);
    path = capture->image().path();
  }
  options.name = name;
  E4R_TRY(image::Image image, image::Image::open(path, options));
  return OpenedImage{std::move(capture), std::move(path), std::move(image)};
}

namespace {

std::string strip(const std::string& path, std::span<const std::string_view> endings) {
  for (const std::string_view ending : endings)
    if (path.size() > ending.size() && path.ends_with(ending))
      return path.substr(0, path.size() - ending.size());
  return path;
}

}  // namespace

Result<std::unique_ptr<trace::Trace>> open_events(const std::string& path,
                                                  const trace::ReadOptions& options) {
  if (!capture::is_capture(path)) return trace::open_trace(path, options);
  E4R_TRY(const capture::Capture capture, capture::Capture::open(path));
  return capture.open_trace(options);
}

Result<trace::PackedTrace> load_events(const std::string& path, const trace::ReadOptions& options) {
  if (!capture::is_capture(path)) return trace::load_packed(path, options);
  E4R_TRY(const capture::Capture capture, capture::Capture::open(path));
  return capture.load_trace(options);
}

std::string name_beside(const std::string& trace, const std::string& suffix) {
  static constexpr std::array<std::string_view, 2> kPacked = {".zst", ".gz"};
  static constexpr std::array<std::string_view, 5> kTraces = {".trace", ".e4t", ".txt", ".perf",
                                                              ".dat"};
  return strip(strip(trace, kPacked), kTraces) + "." + suffix;
}

std::string find_beside(const std::string& trace, const std::string& suffix) {
  const std::string path = name_beside(trace, suffix);
  std::error_code ec;
  return std::filesystem::is_regular_file(path, ec) ? path : std::string();
}

void declare_trace_reads(const std::string& path, Outputs& outputs) {
  outputs.reads(path);
  for (const char* suffix : {"tunables", "mb_groups", "mb_stats"})
    outputs.reads(name_beside(path, suffix));
}

namespace {

// Returns the first line of a NAME.tunables file that has the form of a kernel release, or "".
std::string release_line(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line = std::string(trim(line));
    if (allocator::parse_release(line)) return line;
  }
  return {};
}

}  // namespace

Status take_tunables(const NotedText& found, allocator::Tunables& tunables) {
  if (allocator::read_recorded_tunables(tunables, found.text) == 0)
    return error("{}: has no tunable: lines should read like 'mb_max_to_scan:200'", found.where);
  return {};
}

namespace {

struct RecordedKernel {
  allocator::Tunables tunables;
  std::string tunables_from;
  std::string release;
  replay::MountFacts mount;
};

// Reads the tunables. Also takes the release from the file if it is still unknown.
Status read_tunables(const InputOptions& options, const capture::Capture* capture,
                     std::uint32_t default_mount_options, RecordedKernel& recorded) {
  recorded.mount = replay::read_mount("", default_mount_options);
  E4R_TRY(const auto found, noted(options.tunables_file, capture, capture::text_name::kTunables,
                                  options.trace, "tunables"));
  if (!found) return {};
  recorded.mount = replay::read_mount(found->text, default_mount_options);
  E4R_CHECK(take_tunables(*found, recorded.tunables));
  recorded.tunables_from = found->where;
  if (recorded.release.empty()) recorded.release = release_line(found->text);
  return {};
}

// Opens the trace as a capture, or the image if there is no trace. Returns nullopt for a trace that
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
    return error("{}: has no start image (--snapshot {}): give one before it", path,
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
  if (!options.finds_cpus || recorded.possible_cpus != 0 ||
      trace.summary().streams_without_start == 0)
    return {};
  const auto events = trace.cursor();
  E4R_TRY(const replay::StreamGoalCount found, replay::count_stream_goals(*events, groups));
  recorded.possible_cpus = found.goals;
  listener.warn(
      fmt::format("the number of possible CPUs is not recorded: using {}, which explains {} of {} "
                  "stream goals; --set possible_cpus=N gives another number",
                  found.goals, format_count(found.explained), format_count(found.searches)));
  return {};
}

// An error in a text of the capture.
Error error_in(const Inputs& inputs, std::string_view text, const Error& what) {
  return error("{}: {}: {}", inputs.capture->path(), text, what.message);
}

// Reads the checkpoint of a recorder that had followed the file system.
Result<replay::WarmStart> read_checkpoint(const Inputs& inputs, const std::string& text) {
  auto checkpoint = replay::Checkpoint::parse(text);
  const Status fits = checkpoint.ok() ? checkpoint->check(inputs.source) : checkpoint.error();
  if (!fits.ok()) return error_in(inputs, capture::text_name::kCheckpoint, fits.error());
  replay::WarmStart out;
  out.checkpoint = std::make_shared<replay::Checkpoint>(*std::move(checkpoint));
  return out;
}

// Deduces what the file system of a capture held in memory when recording began.
Result<replay::WarmStart> find_warm_start(const Inputs& inputs) {
  if (const std::string* text = inputs.capture->text(capture::text_name::kCheckpoint))
    return read_checkpoint(inputs, *text);
  std::vector<state::MbGroup> shown;
  if (const std::string* text = inputs.capture->text(capture::text_name::kStartGroups)) {
    auto groups = stats::parse_mb_groups(*text);
    if (!groups.ok()) return error_in(inputs, capture::text_name::kStartGroups, groups.error());
    shown = *std::move(groups);
  }
  std::optional<replay::Checkpoint> memory;
  if (const std::string* text = inputs.capture->text(capture::text_name::kStartMemory)) {
    auto parsed = replay::Checkpoint::parse(*text);
    if (!parsed.ok()) return error_in(inputs, capture::text_name::kStartMemory, parsed.error());
    memory = *std::move(parsed);
  }
  auto out = replay::deduce_warm_start(inputs.source, *inputs.trace.cursor(), shown,
                                       inputs.recorded.mb_stream_req, memory ? &*memory : nullptr);
  if (!out.ok() && memory) return error_in(inputs, capture::text_name::kStartMemory, out.error());
  return out;
}

}  // namespace

void declare_reads(const InputOptions& options, Outputs& outputs) {
  outputs.reads(options.image);
  for (const std::string& file : {options.tunables_file, options.mb_groups, options.mb_stats})
    outputs.reads(file);
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
  const std::string path = !given.empty() ? given : find_beside(trace, suffix);
  if (path.empty()) return std::optional<NotedText>();
  E4R_TRY(const std::string text, read_file(path));
  return std::optional(NotedText{path, unix_lines(text)});
}

Result<Inputs> open_inputs(const InputOptions& given, const Listener& listener) {
  E4R_TRY(std::optional<capture::Capture> capture, open_capture(given));
  InputOptions options = given;
  if (options.trace.empty()) options.trace = options.image;
  options.read.needed = trace::KindSet::for_purpose(trace::Purpose::allocator);
  const bool own_image = capture && given.trace.empty();
  const std::string image_path = own_image ? capture->image().path() : options.image;
  image::OpenOptions open;
  open.strict = options.strict;
  open.threads = options.threads;
  open.name = options.image;
  listener.progress.show("reading " + options.image);
  auto opened = image::Image::open(image_path, open);
  if (!opened.ok() && is_image(given.trace))
    return error("{}: is not an image, but {} is: give the start image before its trace",
                 options.image, given.trace);
  if (!opened.ok()) return std::move(opened).error();
  image::Image image = *std::move(opened);
  listener.progress.show("reading " + options.trace);
  state::Source source = replay::source_from(image);
  replay::DeviceFit fit(source.geometry);
  E4R_TRY(trace::PackedTrace trace, capture
                                        ? capture->load_trace(options.read, &fit)
                                        : trace::load_packed(options.trace, options.read, &fit));
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
  Inputs out = {given,
                std::move(capture),
                image_path,
                std::move(image),
                std::move(trace),
                std::move(source),
                recorded.tunables,
                std::move(recorded.tunables_from),
                std::move(recorded.release),
                recorded.mount,
                std::nullopt,
                std::nullopt,
                std::nullopt};
  if (own_image && out.capture->start().mounted) {
    E4R_TRY(out.warm, find_warm_start(out));
  }
  return out;
}

namespace {

bool is_there(const std::string& path) {
  std::error_code failed;
  const auto type = std::filesystem::status(path, failed).type();
  return type == std::filesystem::file_type::regular || type == std::filesystem::file_type::block;
}

}  // namespace

Result<CaptureName> parse_capture(const std::string& word) {
  if (is_there(word)) {
    if (::access(word.c_str(), R_OK) != 0) return error("{}: {}", word, errno_text(errno));
    if (capture::is_capture(word)) return CaptureName{word, word, ""};
    return error("{}: is not a capture (.e4c): give a start image and its trace as IMAGE:TRACE",
                 word);
  }
  std::vector<CaptureName> found;
  for (std::size_t at = 0; (at = word.find(':', at)) != std::string::npos; ++at) {
    CaptureName split = {word, word.substr(0, at), word.substr(at + 1)};
    if (is_there(split.image) && is_there(split.trace)) found.push_back(std::move(split));
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1) return error("{}: has several colons between two files", word);
  std::error_code failed;
  if (std::filesystem::is_directory(word, failed))
    return error(
        "{}: is a directory: give FILE.e4c or IMAGE:TRACE; `e4replay sweep --merge` joins parts",
        word);
  if (std::filesystem::exists(word, failed))
    return error("{}: is not a regular file: give FILE.e4c or IMAGE:TRACE", word);
  if (failed) return error("{}: {}", word, failed.message());
  const auto colon = word.find(':');
  if (colon == std::string::npos)
    return error("{}: there is no such file: give FILE.e4c or IMAGE:TRACE", word);
  const std::string image = word.substr(0, colon);
  return error("{}: there is no file {}: give FILE.e4c or IMAGE:TRACE", word,
               is_there(image) ? word.substr(colon + 1) : image);
}

InputOptions input_options(const CaptureName& name, unsigned threads) {
  InputOptions out;
  out.image = name.image;
  out.trace = name.trace;
  out.threads = threads;
  return out;
}

void declare_reads(const CaptureName& name, Outputs& outputs) {
  outputs.reads(name.image);
  declare_trace_reads(name.trace.empty() ? name.image : name.trace, outputs);
}

namespace {

using Inodes = std::set<std::uint64_t>;

// Returns the wanted inodes whose creation the trace shows.
Result<Inodes> made_in(const trace::PackedTrace& trace, const Inodes& wanted) {
  Inodes out;
  const auto events = trace.cursor();
  for (;;) {
    E4R_TRY(const std::span<const trace::Event> batch, events->next());
    if (batch.empty()) return out;
    for (const trace::Event& event : batch)
      if (event.kind == trace::EventKind::allocate_inode && wanted.contains(event.ino))
        out.insert(event.ino);
  }
}

}  // namespace

Status name_files(const Inputs& inputs, const Listener& listener, report::FragmentedFiles& all) {
  Inodes wanted;
  for (const report::FragmentedFile& file : all.files) wanted.insert(file.ino);
  E4R_TRY(const Inodes made, made_in(inputs.trace, wanted));
  for (const std::uint64_t ino : made) wanted.erase(ino);
  const image::FoundPaths found = inputs.image.paths(wanted);
  all.has_paths = found.has_inodes;
  for (report::FragmentedFile& file : all.files) {
    file.is_new = made.contains(file.ino);
    if (const auto path = found.paths.find(file.ino); path != found.paths.end())
      file.path = path->second;
  }
  if (found.unreadable > 0)
    listener.warn(fmt::format("{}: {} directories cannot be read, so paths may be missing",
                              escape(inputs.options.image), format_count(found.unreadable)));
  return {};
}

}  // namespace e4r::app
