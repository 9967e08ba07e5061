// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capture/capture.h"
#include "image/image.h"
#include "replay/load.h"
#include "replay/mount.h"
#include "replay/session.h"
#include "replay/warm_start.h"
#include "report/replay_report.h"
#include "trace/packed.h"
#include "util/output.h"
#include "util/progress.h"

// What `replay` and `verify` have in common: an image, a trace, and what the recorder noted beside
// the trace; or one file (.e4c) that has all of it.
namespace e4r::tools {

class CommandLine;

// A trace and how to read it.
struct TraceOptions {
  std::string trace;
  std::string device;                 // MAJOR:MINOR; empty: the only or the busiest one
  std::string generation;             // empty: found out
  std::optional<std::string> buffer;  // of a trace.dat; none: all
  bool lenient = false;
};
[[nodiscard]] Result<trace::PackedTrace> open_trace(const TraceOptions& options);

// A trace of any format, a capture's included.
[[nodiscard]] Result<std::unique_ptr<trace::Trace>> open_events(const std::string& path,
                                                                const trace::OpenOptions& options);
[[nodiscard]] Result<trace::PackedTrace> load_events(const std::string& path,
                                                     const trace::OpenOptions& options);

struct InputOptions : TraceOptions {
  std::string image;
  std::string tunables_file;
  std::vector<std::string> settings;  // --set
  std::string json;
  bool strict = false;
  bool check = false;
  bool no_progress = false;
  unsigned threads = 0;
  std::uint64_t explain = 0;
};

// Declares the options above on a subcommand.
void declare_inputs(CommandLine& app, InputOptions& options);

// Everything opened and read.
struct Inputs {
  std::optional<capture::Capture> capture;  // what the rest comes from, or all but the image
  std::string image_path;                   // under which the image can be opened again
  std::string image_name;                   // what messages call it
  image::Image image;
  trace::PackedTrace trace;
  state::Source source;
  allocator::Tunables recorded;  // of the recorded kernel
  std::string tunables_from;     // where they were noted; empty: nowhere, they are the defaults
  std::string release;           // its own, as `uname -r`; empty: not known
  replay::MountFacts mount;
  std::optional<replay::WarmStart> warm;  // of a file system that was mounted when it began
};

// Opens image and trace, warns of what is wrong with them, and reads the tunables that were noted
// in the capture, beside the trace ("NAME.tunables" beside "NAME.trace.zst") or in --tunables.
[[nodiscard]] Result<Inputs> open_inputs(const InputOptions& options, Progress& progress);

// "DIR/NAME.SUFFIX" for a trace "DIR/NAME.trace.zst".
[[nodiscard]] std::string name_beside(const std::string& trace, const std::string& suffix);
// The same, empty when there is no such file.
[[nodiscard]] std::string beside(const std::string& trace, const std::string& suffix);

// What a command reads that is given these: image, trace, and what lies beside the trace.
void declare_reads(const InputOptions& options, Outputs& outputs);
// The trace at `path` and what lies beside it.
void declare_trace_reads(const std::string& path, Outputs& outputs);

// A text and where it is from, for messages.
struct NotedText {
  std::string where;
  std::string text;
};
// What the recorder noted under that name: the file `given`, else the capture's `in_capture`, else
// the file beside the trace.
[[nodiscard]] Result<std::optional<NotedText>> noted(const std::string& given,
                                                     const capture::Capture* capture,
                                                     std::string_view in_capture,
                                                     const std::string& trace,
                                                     const std::string& suffix);

// Warns of what the code of a kernel does not begin with: what a file system that had been mounted
// before held in memory alone.
void warn_of_cold_kernel(const allocator::Policy& policy, const Inputs& inputs);

// The policy with these tunables, and who decides by it: the model, or the code of the kernel that
// it names. `inputs` must outlive the setup.
[[nodiscard]] replay::Setup make_setup(const allocator::Policy& policy,
                                       const allocator::Tunables& tunables, const Inputs& inputs);

// What `replay` compares without -p: the recorded kernel's policy first, and then its neighbours
// among those of long-term kernels, the one before it and the one after it.
[[nodiscard]] std::vector<const allocator::Policy*> with_neighbours(std::string_view recorded);

// Tunables with every --set applied.
[[nodiscard]] Status apply_settings(allocator::Tunables& tunables,
                                    const std::vector<std::string>& settings);

[[nodiscard]] replay::SessionOptions session_options(const InputOptions& options,
                                                     const Inputs& inputs, Progress& progress);

// The report's head: image, trace, free extents before.
[[nodiscard]] report::ReplayReport start_report(const InputOptions& options, const Inputs& inputs);

// The decision that --explain names, as the run has written it down; empty when none was asked for.
// The Error when there is none of that number.
[[nodiscard]] Result<std::string> explained(const InputOptions& options, const replay::Run& run);

}  // namespace e4r::tools
