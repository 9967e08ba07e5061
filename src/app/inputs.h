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

// What is replayed: an image, a trace, and what the recorder noted beside the trace; or one file
// (.e4c) that has all of it.
namespace e4r::app {

struct InputOptions : TraceOptions {
  std::string image;          // or a capture, and no trace
  std::string tunables_file;  // empty: what lies beside the trace
  std::vector<std::string>
      settings;               // NAME=VALUE, for the replays; what they set is not looked for
  bool strict = false;        // a damaged group is an error, and not left out
  bool check = false;         // replays verify the allocator's invariants on the way
  unsigned threads = 0;       // 0: one per CPU
  std::uint64_t explain = 0;  // the decision to write down; 0: none
};

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
// in the capture, beside the trace ("NAME.tunables" beside "NAME.trace.zst") or in
// `tunables_file`. Errors: what cannot be read, and a trace that is none of this image.
[[nodiscard]] Result<Inputs> open_inputs(const InputOptions& options, const Listener& listener);

// A command reads image, trace, and what lies beside the trace.
void declare_reads(const InputOptions& options, Outputs& outputs);

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

}  // namespace e4r::app
