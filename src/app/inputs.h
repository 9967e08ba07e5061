// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/tunables.h"
#include "app/listener.h"
#include "app/trace_files.h"
#include "capture/capture.h"
#include "image/image.h"
#include "replay/load.h"
#include "replay/mount.h"
#include "replay/warm_start.h"

// The inputs of a replay: an image, a trace, and the recorder's notes beside the trace; or one file
// (.e4c) that contains all of these.
namespace e4r::app {

struct InputOptions : TraceOptions {
  std::string image;                  // the image, or a capture without a separate trace
  std::string tunables_file;          // empty: the file beside the trace
  std::vector<std::string> settings;  // NAME=VALUE for the replays; not derived from the inputs
  bool strict = false;                // fail on damaged groups instead of leaving them out
  bool check = false;                 // verify the allocator's invariants during replays
  unsigned threads = 0;               // 0: one per CPU
  std::uint64_t explain = 0;          // the decision to explain; 0: do not explain
};

// The opened and parsed inputs.
struct Inputs {
  std::optional<capture::Capture> capture;  // the source of all members, or of all but the image
  std::string image_path;                   // path to open the image again
  std::string image_name;                   // the image's name in messages
  image::Image image;
  trace::PackedTrace trace;
  state::Source source;
  allocator::Tunables recorded;  // the recorded kernel's
  std::string tunables_from;     // the source of `recorded`; empty: the values are defaults
  std::string release;           // the recorded kernel's, as in `uname -r`; empty: unknown
  replay::MountFacts mount;
  std::optional<replay::WarmStart> warm;  // set if the file system was mounted when recording began
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

}  // namespace e4r::app
