// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "trace/packed.h"
#include "util/output.h"

// Traces in any file format, and the recorder's files beside them.
namespace e4r::app {

// A trace and how to read it.
struct TraceOptions {
  std::string trace;
  std::string device;                 // MAJOR:MINOR; empty: the only or the busiest device
  std::string generation;             // empty: detect it
  std::optional<std::string> buffer;  // a buffer of a trace.dat; nothing: all
  bool lenient = false;
  bool any_ratio = false;                         // accept any ratio of unpacked to packed bytes
  trace::KindSet needed = trace::KindSet::all();  // events that an answer needs
};
// The options for the reader. Fails on an invalid device or generation.
[[nodiscard]] Result<trace::OpenOptions> open_options(const TraceOptions& options);
[[nodiscard]] Result<trace::PackedTrace> open_trace(const TraceOptions& options);

// Opens a trace of any format, including a capture's.
[[nodiscard]] Result<std::unique_ptr<trace::Trace>> open_events(const std::string& path,
                                                                const trace::OpenOptions& options);
[[nodiscard]] Result<trace::PackedTrace> load_events(const std::string& path,
                                                     const trace::OpenOptions& options);

// "DIR/NAME.SUFFIX" for a trace "DIR/NAME.trace.zst".
[[nodiscard]] std::string name_beside(const std::string& trace, const std::string& suffix);
// The same if that file exists; otherwise empty.
[[nodiscard]] std::string beside(const std::string& trace, const std::string& suffix);

// Declares that a command reads the trace at `path` and the files beside it.
void declare_trace_reads(const std::string& path, Outputs& outputs);

}  // namespace e4r::app
