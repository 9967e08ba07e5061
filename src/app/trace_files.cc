// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/trace_files.h"

#include <array>
#include <filesystem>
#include <span>

#include "capture/capture.h"

namespace e4r::app {
namespace {

std::string strip(const std::string& path, std::span<const std::string_view> endings) {
  for (const std::string_view ending : endings)
    if (path.size() > ending.size() && path.ends_with(ending))
      return path.substr(0, path.size() - ending.size());
  return path;
}

}  // namespace

Result<trace::OpenOptions> open_options(const TraceOptions& options) {
  trace::OpenOptions open;
  open.lenient = options.lenient;
  open.needed = options.needed;
  open.any_ratio = options.any_ratio;
  open.buffer = options.buffer;
  if (!options.device.empty()) {
    E4R_TRY(open.device, trace::parse_device(options.device));
  }
  if (!options.generation.empty()) {
    E4R_TRY(open.generation, trace::parse_generation(options.generation));
  }
  return open;
}

Result<trace::PackedTrace> open_trace(const TraceOptions& options) {
  E4R_TRY(const trace::OpenOptions open, open_options(options));
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

}  // namespace e4r::app
