// SPDX-License-Identifier: GPL-2.0-or-later
#include "e4replay/convert_capture.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <vector>

#include "app/inputs.h"
#include "capture/anonymize.h"
#include "capture/capture.h"
#include "capture/image_parts.h"
#include "common/child.h"
#include "common/command.h"
#include "common/print_line.h"
#include "image/bitmaps.h"
#include "image/image.h"
#include "replay/intake.h"
#include "trace/writer.h"
#include "util/file.h"
#include "util/units.h"

namespace e4r::tools {
namespace {

// The smallest accepted size. mke2fs can make a file system with a journal in about half of it.
constexpr std::uint64_t kLeastBytes = 8 << 20;

// The UUID for a repeatable file system.
constexpr const char* kFixedUuid = "e4e4e4e4-e4e4-4e4e-8e4e-e4e4e4e4e4e4";

}  // namespace

Result<std::uint64_t> parse_start_size(const std::string& size) {
  const auto bytes = parse_size(size);
  if (!bytes.ok()) return error("{}: is not a size such as 10G", size);
  if (*bytes < kLeastBytes)
    return error("{}: is too small for a file system that ages: give {} or more", size,
                 format_size(kLeastBytes));
  return *bytes;
}

Status SourceImage::make_in(std::uint64_t bytes, const std::string& size,
                            const std::string& directory, const std::string& where,
                            std::uint32_t block_size, bool repeatable) {
  E4R_TRY(const std::string mke2fs, find_mke2fs());
  auto file = anonymous_file(directory, true);
  if (!file.ok()) return error("{}: {}", where, file.error().message);
  made_ = *std::move(file);
  path_ = made_.path();
  if (::ftruncate(made_.get(), static_cast<off_t>(bytes)) != 0)
    return error("{} of {} bytes: {}", where, bytes, errno_text(errno));
  std::string extended = "nodiscard,lazy_itable_init=1";
  if (repeatable) extended += std::string(",hash_seed=") + kFixedUuid;
  std::vector<std::string> arguments = {"mke2fs", "-q", "-F", "-t", "ext4", "-E", extended};
  if (block_size != 0) {
    arguments.emplace_back("-b");
    arguments.push_back(std::to_string(block_size));
  }
  std::string program = mke2fs;
  if (repeatable) {
    // mke2fs uses this as the current time.
    arguments.insert(arguments.begin(), {"env", "E2FSPROGS_FAKE_TIME=1577836800"});
    arguments[2] = mke2fs;
    arguments.insert(arguments.end(), {"-U", kFixedUuid});
    program = "/usr/bin/env";
  }
  arguments.push_back(path_);
  E4R_TRY(const int status, run_child(program, arguments));
  if (status != 0) return error("mke2fs made no file system of {}: status {}", size, status);
  return {};
}

Result<SourceImage> SourceImage::open(const std::string& target, const OutputName& output) {
  SourceImage out;
  out.path_ = target;
  std::error_code ec;
  if (std::filesystem::exists(target, ec)) return out;
  if (!parse_size(target).ok())
    return error("{}: is neither an image nor a size such as 10G", target);
  E4R_TRY(const std::uint64_t bytes, parse_start_size(target));
  E4R_TRY(const std::string behind_links, output_target(output));
  E4R_CHECK(out.make_in(bytes, target, directory_of(behind_links),
                        output.path() + ": cannot create a file next to it"));
  return out;
}

Result<SourceImage> SourceImage::make_like(std::uint64_t bytes,
                                           const std::vector<std::string>& arguments,
                                           const std::string& extended, const OutputName& output) {
  E4R_TRY(const std::string mke2fs, find_mke2fs());
  E4R_TRY(const std::string behind_links, output_target(output));
  SourceImage out;
  auto file = anonymous_file(directory_of(behind_links), true);
  if (!file.ok())
    return error("{}: cannot create a file next to it: {}", output.path(), file.error().message);
  out.made_ = *std::move(file);
  out.path_ = out.made_.path();
  if (::ftruncate(out.made_.get(), static_cast<off_t>(bytes)) != 0)
    return error("{} of {} bytes: {}", output.path(), bytes, errno_text(errno));
  // mke2fs uses E2FSPROGS_FAKE_TIME as the current time.
  std::vector<std::string> words = {
      "env",
      "E2FSPROGS_FAKE_TIME=1577836800",
      mke2fs,
      "-q",
      "-F",
      "-t",
      "ext4",
      "-U",
      kFixedUuid,
      "-E",
      std::string("nodiscard,lazy_itable_init=1,hash_seed=") + kFixedUuid + extended};
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.push_back(out.path_);
  E4R_TRY(const int status, run_child("/usr/bin/env", words));
  if (status != 0) return error("mke2fs made no such file system: status {}", status);
  return out;
}

Result<SourceImage> SourceImage::make(const std::string& size, const std::string& directory,
                                      std::uint32_t block_size, bool repeatable) {
  E4R_TRY(const std::uint64_t bytes, parse_start_size(size));
  SourceImage out;
  E4R_CHECK(out.make_in(bytes, size, directory, "cannot make a file system of " + size, block_size,
                        repeatable));
  return out;
}

namespace {

namespace names = capture::text_name;
using capture::Capture;
using capture::CaptureWriter;
using capture::MemoryImage;

// The suffixes of the files next to a trace, and their names in a capture.
constexpr std::array<std::pair<const char*, std::string_view>, 3> kNotes = {{
    {"tunables", names::kTunables},
    {"mb_groups", names::kEndGroups},
    {"mb_stats", names::kEndStats},
}};

// The parts from which a capture is made.
struct Material {
  std::optional<Capture> capture;  // only if the input is a capture
  MemoryImage image;               // a copy that may be changed
  std::string image_path;          // empty if not given
  capture::StartFacts start;
  capture::EndFacts end;
};

// Copies the metadata blocks of an image into memory.
Result<MemoryImage> copy_of(const std::string& path) {
  E4R_TRY(const auto blocks, capture::StartImage::read(path));
  MemoryImage out;
  E4R_CHECK(blocks.pack([&](std::string_view part) { return out.add(part); }));
  return out;
}

Result<Material> gather(const CaptureConversion& conversion) {
  Material out;
  if (capture::is_capture(conversion.input)) {
    E4R_TRY(out.capture, Capture::open(conversion.input));
    out.start = out.capture->start();
    if (out.capture->end() != nullptr) out.end = *out.capture->end();
    if (!out.capture->image().empty()) out.image_path = out.capture->image().path();
  } else {
    out.start.recorder = fmt::format("e4replay {}, from {}", E4R_VERSION, conversion.input);
    out.start.snapshot = conversion.image.empty() ? "none" : "unmounted";
    out.end.reason = "the trace ended";
    out.end.quiet = true;
  }
  if (!conversion.image.empty()) out.image_path = conversion.image;
  if (conversion.anonymize) {
    if (out.capture && out.capture->text(names::kCheckpoint) != nullptr)
      return error(
          "{}: begins with a checkpoint, which names inodes: --anonymize cannot change them",
          conversion.input);
    if (out.image_path.empty())
      return error(
          "--anonymize: without a start image it is unknown which inodes belong to the same group");
    E4R_TRY(out.image, copy_of(out.image_path));
    out.image_path = out.image.path();
    E4R_CHECK(image::scrub(out.image_path));
    out.start = capture::anonymous(out.start);
    out.start.recorder = fmt::format("e4replay {}{}", E4R_VERSION, capture::kAnonymous);
    out.end = capture::anonymous(out.end);
  }
  return out;
}

// Returns the texts of the capture, or of the files next to the trace, with the names that they
// have in a capture.
Result<std::vector<std::pair<std::string, std::string>>> texts_of(
    const CaptureConversion& conversion, const Material& material) {
  std::vector<std::pair<std::string, std::string>> out;
  if (material.capture) {
    for (const auto& [name, text] : material.capture->texts())
      if (name != names::kStart && name != names::kEnd) out.emplace_back(name, text);
    return out;
  }
  for (const auto& [suffix, name] : kNotes) {
    E4R_TRY(const auto text, app::noted("", nullptr, "", conversion.input, suffix));
    if (text) out.emplace_back(std::string(name), text->text);
  }
  return out;
}

// Writes the texts, anonymous ones if `scramble` is not null.
Status write_texts(const CaptureConversion& conversion, const Material& material,
                   capture::Anonymizer* scramble, CaptureWriter& writer) {
  E4R_TRY(const auto texts, texts_of(conversion, material));
  for (const auto& [name, text] : texts) {
    if (scramble != nullptr && name == names::kTunables)
      E4R_CHECK(writer.text(name, capture::anonymous_tunables(text)));
    else if (scramble != nullptr && name == names::kStartMemory)
      E4R_CHECK(writer.text(name, scramble->start_memory(text)));
    else if (scramble == nullptr || capture::is_anonymous_text(name))
      E4R_CHECK(writer.text(name, text));
  }
  return {};
}

// The number of stream goals that the recorded kernel kept (StreamGoals).
Result<std::uint32_t> stream_goals(const trace::TraceSummary& trace, std::uint32_t possible_cpus,
                                   std::uint32_t groups) {
  if (trace.streams_without_start == 0) return 1u;
  if (possible_cpus == 0)
    return error(
        "--anonymize: the number of possible CPUs is not recorded, and decisions depend on it and "
        "on inode numbers: give a capture made by `e4replay record`");
  return std::max(std::min(possible_cpus, (groups + 3) / 4), 1u);
}

// Makes the object that renumbers inodes.
Result<capture::Anonymizer> anonymizer(const Material& material, const trace::PackedTrace& trace) {
  image::OpenOptions open;
  open.load_bitmaps = false;
  E4R_TRY(const image::Image image, image::Image::open(material.image_path, open));
  capture::AnonymizeOptions options;
  options.inodes_per_group = image.superblock().inodes_per_group;
  options.inodes_count = image.superblock().inodes_count;
  options.first_inode = std::max(image.superblock().first_inode, 11u);
  E4R_TRY(options.stream_goals,
          stream_goals(trace.summary(), material.start.possible_cpus, image.superblock().groups));
  options.seed = std::hash<std::string>()(image.superblock().uuid) ^ trace.events();
  return capture::Anonymizer(options);
}

// The events to write: either read one by one, or held in memory.
struct Events {
  std::unique_ptr<trace::Trace> read;
  std::optional<trace::PackedTrace> held;
  std::unique_ptr<trace::EventSource> cursor;  // reads `held`
  [[nodiscard]] trace::EventSource& source() const { return read ? *read : *cursor; }
  [[nodiscard]] const trace::TraceSummary& facts() const {
    return read ? read->summary() : held->summary();
  }
  [[nodiscard]] std::vector<std::string> notes() const {
    return read ? trace::notes(read->summary()) : held->notes();
  }
};

// Reads the events of the image's device; the trace may contain others.
Result<trace::PackedTrace> events_of_image(const CaptureConversion& conversion,
                                           const Material& material) {
  image::OpenOptions open;
  open.load_bitmaps = false;
  E4R_TRY(const image::Image image, image::Image::open(material.image_path, open));
  replay::DeviceFit fit(image.superblock());
  E4R_TRY(auto packed, trace::load_packed(conversion.input, conversion.open, &fit));
  if (const Status verdict = fit.verdict(); !verdict.ok())
    return error("{}: not a trace of {}: {}; give the image from before the trace",
                 conversion.input, conversion.image, verdict.error().message);
  return packed;
}

// The input's events. If the input is a capture, uses the one that is already open. An anonymizer
// needs the events in memory, because it reads them before they are written.
Result<Events> events_of(const CaptureConversion& conversion, const Material& material) {
  Events out;
  if (!material.capture && !material.image_path.empty()) {
    E4R_TRY(out.held, events_of_image(conversion, material));
  } else if (material.capture && conversion.anonymize) {
    E4R_TRY(out.held, material.capture->load_trace(conversion.open));
  } else if (material.capture) {
    E4R_TRY(out.read, material.capture->open_trace(conversion.open));
  } else {
    E4R_TRY(out.read, trace::open_trace(conversion.input, conversion.open));
  }
  if (out.held) out.cursor = out.held->cursor();
  return out;
}

// Writes the events, anonymous ones if `scramble` is not null.
Status copy_events(const Events& events, capture::Anonymizer* scramble, CaptureWriter& writer,
                   std::uint64_t& count) {
  const trace::TraceSummary& facts = events.facts();
  std::vector<trace::Event> changed;
  trace::TraceSummary summary;
  for (;;) {
    E4R_TRY(auto batch, events.source().next());
    if (batch.empty()) break;
    if (scramble != nullptr) {
      changed.assign(batch.begin(), batch.end());
      for (trace::Event& event : changed) {
        scramble->apply(event);
        summary.add(event, nullptr);
      }
      batch = changed;
    }
    E4R_CHECK(writer.events(batch, facts.generation));
  }
  for (const std::string& note : events.notes()) warn(note);
  count = facts.events;
  if (scramble == nullptr) return writer.end_events(facts);
  summary.generation = facts.generation;
  summary.generation_guessed = facts.generation_guessed;
  summary.recorded_as = facts.recorded_as;
  return writer.end_events(summary);
}

}  // namespace

Status make_capture(const CaptureConversion& conversion) {
  E4R_TRY(Material material, gather(conversion));
  E4R_TRY(auto file, trace::OutputFile::create(conversion.outputs.name_of(conversion.output)));
  const bool checkpoint = material.capture && material.capture->text(names::kCheckpoint) != nullptr;
  E4R_TRY(const auto writer,
          CaptureWriter::create(std::move(file),
                                checkpoint ? capture::kCheckpointVersion : capture::kVersion));
  E4R_CHECK(writer->start(material.start));
  E4R_TRY(const Events events, events_of(conversion, material));
  std::optional<capture::Anonymizer> anonymous;
  if (conversion.anonymize) {
    E4R_TRY(anonymous, anonymizer(material, *events.held));
  }
  capture::Anonymizer* const scramble = anonymous ? &*anonymous : nullptr;
  E4R_CHECK(write_texts(conversion, material, scramble, *writer));
  if (!material.image_path.empty()) {
    E4R_TRY(const auto image, capture::StartImage::read(material.image_path));
    E4R_CHECK(image.pack([&](std::string_view part) { return writer->image(part); }));
  }
  std::uint64_t count = 0;
  E4R_CHECK(copy_events(events, scramble, *writer, count));
  material.end.events = count;
  E4R_CHECK(writer->finish(material.end));
  print_line("{}: {} events{}", conversion.output, format_count(count),
             conversion.image.empty() ? "" : ", with " + conversion.image);
  return {};
}

std::vector<std::string> files_beside(const std::string& trace) {
  std::vector<std::string> out;
  out.reserve(kNotes.size());
  for (const auto& [suffix, name] : kNotes) out.push_back(app::name_beside(trace, suffix));
  return out;
}

Status write_files_of_capture(const CaptureConversion& conversion) {
  E4R_TRY(const Capture capture, Capture::open(conversion.input));
  if (capture.image().empty())
    return error("{}: has no start image (--snapshot {})", conversion.input,
                 capture.start().snapshot);
  E4R_CHECK(
      image::write_copy(capture.image().path(), conversion.outputs.name_of(conversion.image)));
  const bool quiet = capture.end() != nullptr && capture.end()->quiet;
  const auto write = [&](std::string_view name, const char* suffix) -> Status {
    const std::string* text = capture.text(name);
    if (text == nullptr) return {};
    return write_output(*text,
                        conversion.outputs.name_of(app::name_beside(conversion.output, suffix)));
  };
  E4R_CHECK(write(names::kTunables, "tunables"));
  // The end counts can be compared with the trace only if the kernel had counted nothing before the
  // recording.
  if (quiet) E4R_CHECK(write(names::kEndGroups, "mb_groups"));
  if (quiet && capture.text(names::kStartStats) == nullptr)
    E4R_CHECK(write(names::kEndStats, "mb_stats"));
  return {};
}

}  // namespace e4r::tools
