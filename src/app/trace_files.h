// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "trace/packed.h"
#include "util/output.h"

// A trace, in whatever file it is, and what a recorder laid beside it.
namespace e4r::app {

// A trace and how to read it.
struct TraceOptions {
  std::string trace;
  std::string device;                 // MAJOR:MINOR; empty: the only or the busiest one
  std::string generation;             // empty: found out
  std::optional<std::string> buffer;  // of a trace.dat; none: all
  bool lenient = false;
  bool any_ratio = false;                         // of packed bytes to what they unpack to
  trace::KindSet needed = trace::KindSet::all();  // events without which there is no answer
};
// The same for the reader. Errors: a device or a generation that is none.
[[nodiscard]] Result<trace::OpenOptions> open_options(const TraceOptions& options);
[[nodiscard]] Result<trace::PackedTrace> open_trace(const TraceOptions& options);

// A trace of any format, a capture's included.
[[nodiscard]] Result<std::unique_ptr<trace::Trace>> open_events(const std::string& path,
                                                                const trace::OpenOptions& options);
[[nodiscard]] Result<trace::PackedTrace> load_events(const std::string& path,
                                                     const trace::OpenOptions& options);

// "DIR/NAME.SUFFIX" for a trace "DIR/NAME.trace.zst".
[[nodiscard]] std::string name_beside(const std::string& trace, const std::string& suffix);
// The same, empty when there is no such file.
[[nodiscard]] std::string beside(const std::string& trace, const std::string& suffix);

// A command reads the trace at `path` and what lies beside it.
void declare_trace_reads(const std::string& path, Outputs& outputs);

}  // namespace e4r::app
