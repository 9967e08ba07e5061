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
  // Receives warnings about an input or a result. Called only from the use case's own thread.
  std::function<void(const std::string&)> warn;
};

// An image without a trace. It may be the start image of a capture.
struct OpenedImage {
  std::optional<capture::Capture> capture;  // the capture that holds the image
  std::string path;                         // path to open it again
  image::Image image;
};

// Opens an image or a capture's start image. Messages use `name` for it, even if `options` has
// another name. Fails for the same reasons as opening an image or a capture, and on a capture
// without a start image.
[[nodiscard]] Result<OpenedImage> open_image(const std::string& name, image::OpenOptions options);

// Traces in any file format, and the recorder's files next to them.

// Opens a trace of any format, including a capture's.
[[nodiscard]] Result<std::unique_ptr<trace::Trace>> open_events(const std::string& path,
                                                                const trace::ReadOptions& options);
[[nodiscard]] Result<trace::PackedTrace> load_events(const std::string& path,
                                                     const trace::ReadOptions& options);

// Returns "DIR/NAME.SUFFIX" for a trace "DIR/NAME.trace.zst".
[[nodiscard]] std::string name_beside(const std::string& trace, const std::string& suffix);
// Returns name_beside() if that file exists; otherwise empty.
[[nodiscard]] std::string find_beside(const std::string& trace, const std::string& suffix);

// Declares that a command reads the trace at `path` and the files next to it.
void declare_trace_reads(const std::string& path, Outputs& outputs);

// The inputs of a replay: an image, a trace, and the recorder's notes next to the trace; or one
// file (.e4c) that contains all of these.

struct InputOptions {
  std::string image;  // the image, or a capture without a separate trace
  std::string trace;
  trace::ReadOptions read;  // how to read the trace; open_inputs() chooses `needed`
  // The recorded kernel's files. If a path is empty, the file in the capture or next to the trace
  // is used.
  std::string tunables_file;
  std::string mb_groups, mb_stats;  // from the end of the recording
  bool strict = false;              // fail on damaged groups instead of leaving them out
  bool finds_cpus = true;           // derive the number of possible CPUs if it was not recorded
  unsigned threads = 0;             // threads that read the image and follow; 0: one per CPU
};

// The opened and parsed inputs.
struct Inputs {
  InputOptions options;                     // as given
  std::optional<capture::Capture> capture;  // the source of all members, or of all except the image
  std::string image_path;                   // path to open the image again
  image::Image image;
  trace::PackedTrace trace;
  state::Source source;
  allocator::Tunables recorded;  // tunables of the recorded kernel
  std::string tunables_from;     // the source of `recorded`; empty if these are defaults
  std::string release;           // release of the recorded kernel, as in `uname -r`; empty: unknown
  replay::MountFacts mount;
  std::optional<replay::WarmStart> warm;  // set if the file system was mounted when recording began
  // Set if a model of a program made the events, so that there is no trace (app/workload.h).
  std::optional<report::WorkloadFacts> workload;
  std::optional<capture::Capture>
      start_of;  // if `workload` is set: the capture that holds the image
};

// Opens image and trace and warns of their defects. Reads the recorded tunables from
// `tunables_file`, the capture, or the file next to the trace ("NAME.tunables" for
// "NAME.trace.zst"). Fails on unreadable input and on a trace that does not belong to the image.
[[nodiscard]] Result<Inputs> open_inputs(const InputOptions& options, const Listener& listener);

// Declares that a command reads the image, the trace, and the files next to the trace.
void declare_reads(const InputOptions& options, Outputs& outputs);

// A text, and its source for messages.
struct NotedText {
  std::string where;
  std::string text;
};
// Finds a text that the recorder saved: in the file `given`, else under `in_capture` in the
// capture, else in the file next to the trace.
[[nodiscard]] Result<std::optional<NotedText>> noted(const std::string& given,
                                                     const capture::Capture* capture,
                                                     std::string_view in_capture,
                                                     const std::string& trace,
                                                     const std::string& suffix);

// Applies the tunables in the text. Fails if it has no tunable.
[[nodiscard]] Status take_tunables(const NotedText& found, allocator::Tunables& tunables);

// The names of captures on the command line of commands that take several.

// The image and trace that one command-line argument names: FILE.e4c, or IMAGE:TRACE, split at the
// only colon that has a file on either side.
struct CaptureName {
  std::string name;   // the whole argument
  std::string image;  // the image, or a capture without a separate trace
  std::string trace;
};
[[nodiscard]] Result<CaptureName> parse_capture(const std::string& word);

// Returns the options to open the capture.
[[nodiscard]] InputOptions input_options(const CaptureName& name, unsigned threads);

// Declares that a command reads the capture's files.
void declare_reads(const CaptureName& name, Outputs& outputs);

// Adds to each file its path in the image. A file created during the recording gets no path,
// because its inode may have belonged to another file before.
[[nodiscard]] Status name_files(const Inputs& inputs, const Listener& listener,
                                report::FragmentedFiles& all);

}  // namespace e4r::app
