// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/tunables.h"
#include "capture/capture.h"
#include "image/image.h"
#include "replay/load.h"
#include "replay/warm_start.h"
#include "report/replay_report.h"
#include "trace/packed.h"
#include "util/output.h"
#include "util/progress.h"
#include "util/status.h"

namespace e4r::app {

// Receives progress and warnings of a use case.
struct Listener {
  Progress& progress;  // shows progress
  // Receives doubts about an input or an answer. Called only from the use case's own thread.
  std::function<void(const std::string&)> warn;
};

// An image alone, which may be a capture's start image.
struct OpenedImage {
  std::optional<capture::Capture> capture;  // the capture that holds the image
  std::string path;                         // path to open it again
  image::Image image;
};

// Opens an image or a capture's start image. Messages call it `name`, whatever `options` say. Fails
// as those do, and on a capture without a start image.
[[nodiscard]] Result<OpenedImage> open_image(const std::string& name, image::OpenOptions options);

// Traces in any file format, and the recorder's files beside them.

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
[[nodiscard]] Result<trace::ReadOptions> open_options(const TraceOptions& options);
[[nodiscard]] Result<trace::PackedTrace> open_trace(const TraceOptions& options);

// Opens a trace of any format, including a capture's.
[[nodiscard]] Result<std::unique_ptr<trace::Trace>> open_events(const std::string& path,
                                                                const trace::ReadOptions& options);
[[nodiscard]] Result<trace::PackedTrace> load_events(const std::string& path,
                                                     const trace::ReadOptions& options);

// "DIR/NAME.SUFFIX" for a trace "DIR/NAME.trace.zst".
[[nodiscard]] std::string name_beside(const std::string& trace, const std::string& suffix);
// The same if that file exists; otherwise empty.
[[nodiscard]] std::string beside(const std::string& trace, const std::string& suffix);

// Declares that a command reads the trace at `path` and the files beside it.
void declare_trace_reads(const std::string& path, Outputs& outputs);

// The inputs of a replay: an image, a trace, and the recorder's notes beside the trace; or one file
// (.e4c) that contains all of these.

struct InputOptions : TraceOptions {
  std::string image;  // the image, or a capture without a separate trace
  // The recorded kernel's files; empty: the capture's, or those beside the trace.
  std::string tunables_file;
  std::string mb_groups, mb_stats;  // from the end of the recording
  bool strict = false;              // fail on damaged groups instead of leaving them out
  bool finds_cpus = true;           // derive the number of possible CPUs if it was not recorded
  unsigned threads = 0;             // that read the image; 0: one per CPU
};

// The opened and parsed inputs.
struct Inputs {
  InputOptions options;                     // as given
  std::optional<capture::Capture> capture;  // the source of all members, or of all but the image
  std::string image_path;                   // path to open the image again
  image::Image image;
  trace::PackedTrace trace;
  state::Source source;
  allocator::Tunables recorded;  // the recorded kernel's
  std::string tunables_from;     // the source of `recorded`; empty: the values are defaults
  std::string release;           // the recorded kernel's, as in `uname -r`; empty: unknown
  replay::MountFacts mount;
  std::optional<replay::WarmStart> warm;  // set if the file system was mounted when recording began
  // Set if there is no trace: a model of a program made the events (app/workload.h).
  std::optional<report::WorkloadFacts> workload;
  std::optional<capture::Capture> start_of;  // then: the capture whose start image this is
};

// Opens image and trace and warns of their defects. Reads the recorded tunables from
// `tunables_file`, the capture, or the file beside the trace ("NAME.tunables" beside
// "NAME.trace.zst"). Fails on unreadable input and on a trace that does not belong to the image.
[[nodiscard]] Result<Inputs> open_inputs(const InputOptions& options, const Listener& listener);

// Declares that a command reads image, trace, and the files beside the trace.
void declare_reads(const InputOptions& options, Outputs& outputs);

// A text and its source for messages.
struct NotedText {
  std::string where;
  std::string text;
};
// Finds a text that the recorder noted: in the file `given`, else under `in_capture` in the
// capture, else in the file beside the trace.
[[nodiscard]] Result<std::optional<NotedText>> noted(const std::string& given,
                                                     const capture::Capture* capture,
                                                     std::string_view in_capture,
                                                     const std::string& trace,
                                                     const std::string& suffix);

// Takes over the tunables in the text. Fails if it has no tunable.
[[nodiscard]] Status take_tunables(const NotedText& found, allocator::Tunables& tunables);

// The names of captures in commands that take several.

// The image and trace behind one word of the command line: FILE.e4c, or IMAGE:TRACE, split at the
// only colon with a file on either side.
struct CaptureName {
  std::string name;   // the whole word
  std::string image;  // the image, or a capture without a separate trace
  std::string trace;
};
[[nodiscard]] Result<CaptureName> parse_capture(const std::string& word);

// The options to open it.
[[nodiscard]] InputOptions input_options(const CaptureName& name, unsigned threads);

// Declares the files that it is read from.
void declare_reads(const CaptureName& name, Outputs& outputs);

// Adds the files' paths in the image. A file created during the recording gets no path, even if its
// inode belonged to another file before.
[[nodiscard]] Status name_files(const Inputs& inputs, const Listener& listener,
                                report::FragmentedFiles& all);

}  // namespace e4r::app
