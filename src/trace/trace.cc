// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/trace.h"

#include "trace/bytes.h"
#include "trace/dat/header.h"
#include "trace/e4t/file.h"
#include "trace/inspection.h"
#include "trace/readers.h"
#include "trace/text/scan.h"
#include "util/units.h"

namespace e4r::trace {
namespace {

// The number of bytes that format detection examines: headers and some events.
constexpr std::size_t kHead = 64 * kKiB;

// Rejects recorders' own files in formats that are not supported.
Status reject_recordings(std::string_view head, const std::string& name) {
  if (head.starts_with("PERFILE2"))
    return error("{}: is a perf recording: convert it with 'perf script --ns -i {} > trace.txt'",
                 name, name);
  return {};
}

}  // namespace

Status Trace::damage(bool lenient, std::string_view what) {
  constexpr std::size_t kMaxWarnings = 20;
  Error e = error("{}: {}", name(), what);
  if (!lenient) return e;
  if (summary_.warnings.size() < kMaxWarnings) summary_.warnings.push_back(std::move(e.message));
  ++summary_.damaged;
  return {};
}

Result<std::unique_ptr<Trace>> open_trace_source(std::unique_ptr<ByteSource> bytes,
                                                 const std::string& name,
                                                 const ReadOptions& options) {
  E4R_TRY(Peeked peeked, peek(std::move(bytes), kHead));
  E4R_CHECK(reject_recordings(peeked.head, name));
  if (options.format == Format::trace_dat ||
      (options.format == Format::unknown && peeked.head.starts_with(dat::kMagic)))
    return dat::dat_trace(std::move(peeked.source), name, options);
  if (options.buffer)
    return error("{}: is not a trace-cmd recording, so it has no buffer to choose", name);
  if (options.format == Format::e4t ||
      (options.format == Format::unknown && peeked.head.starts_with(e4t::kMagic)))
    return e4t::e4t_trace(std::move(peeked.source), name, options);
  const std::string_view foreign = foreign_form(peeked.head);
  if (!foreign.empty()) return error("{}: {}", name, foreign);
  const Format format =
      options.format != Format::unknown ? options.format : recognise_text(peeked.head);
  if (format == Format::unknown)
    return error(
        "{}: is not a trace: neither ftrace, trace-cmd report nor perf script text, nor a "
        "trace-cmd recording, nor .e4t",
        name);
  return text_trace(std::move(peeked.source), format, name, options);
}

Result<std::unique_ptr<Trace>> open_trace(const std::string& path, const ReadOptions& options) {
  E4R_TRY(auto bytes, open_bytes(path, {options.lenient, options.read_ahead, options.any_ratio}));
  return open_trace_source(std::move(bytes), input_name(path), options);
}

Result<std::unique_ptr<Trace>> open_trace_bytes(std::string_view bytes, const std::string& name,
                                                const ReadOptions& options) {
  E4R_TRY(auto source,
          decompress(memory_bytes(bytes), name, {options.lenient, false, options.any_ratio}));
  return open_trace_source(std::move(source), name, options);
}

Result<std::uint32_t> parse_device(std::string_view text) {
  const std::string line(text);  // a LineCursor needs a readable byte after the end
  LineCursor scan(line);
  std::uint32_t major = 0, minor = 0, dev = 0;
  if (!scan.number(major) || !(scan.ch(':') || scan.ch(',')) || !scan.number(minor) ||
      !scan.at_end() || !set_dev(major, minor, dev))
    return error("'{}' is not a device: give MAJOR:MINOR, such as 8:1", text);
  return dev;
}

std::string device_name(std::uint32_t dev) {
  return fmt::format("{},{}", dev_major(dev), dev_minor(dev));
}

Result<Generation> parse_generation(std::string_view text) {
  for (const auto& [word, generation] : kGenerationWords)
    if (text == word) return generation;
  return error("'{}' is not a kernel generation: give 6.1, 6.5 or cr1.5", text);
}

}  // namespace e4r::trace
