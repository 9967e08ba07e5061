// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "capture/image_parts.h"
#include "image/image.h"
#include "record/tracer.h"
#include "record/volume.h"
#include "watch/backlog.h"
#include "watch/flight.h"
#include "watch/follower.h"

namespace e4r::watch {

struct StreamOptions {
  std::string target;  // the mount point, a file in the file system, or its device
  std::size_t buffer_kb = 8192;
  std::chrono::milliseconds max_freeze{2000};
};

// A file system at the moment of a start image.
struct LiveStart {
  capture::MemoryImage bytes;
  std::optional<image::Image> image;  // an image of `bytes`
  state::Source source;               // a source from `image`
  allocator::Tunables tunables;
  std::string noted_tunables;  // tunables as the kernel printed them
  std::vector<state::MbGroup> groups;
  std::optional<replay::Checkpoint> memory;  // read from the kernel's memory, if that was possible
  double frozen_s = 0;                       // how long writers waited
};

// The live events of a mounted file system, and start images of it. Leaves nothing behind in
// tracefs.
class Stream {
 public:
  // The Error says what is missing: a mounted ext4 file system, root privileges, or tracefs.
  [[nodiscard]] static Result<std::unique_ptr<Stream>> open(const StreamOptions& options);

  // Freezes the file system briefly, takes a start image, and drops all events before it.
  [[nodiscard]] Result<std::unique_ptr<LiveStart>> start();
  // Adds the events that are complete by now to the backlog. With `all`, ends tracing first and
  // adds everything.
  [[nodiscard]] Status pump(Backlog& backlog, bool all = false);

  [[nodiscard]] const record::Volume& volume() const { return volume_; }
  // The facts for a capture of a run that began at `start`. `program`: name and version.
  [[nodiscard]] FlightNotes notes_for(const LiveStart* start, const std::string& program) const;
  // The current time, by the clock of the events.
  [[nodiscard]] static std::uint64_t now_ns();
  // The number of events that the kernel has dropped so far.
  [[nodiscard]] std::uint64_t lost() const;

 private:
  explicit Stream(const StreamOptions& options) : options_(options) {}
  [[nodiscard]] Status prepare();

  StreamOptions options_;
  record::Volume volume_;
  std::unique_ptr<record::Tracer> tracer_;
};

}  // namespace e4r::watch
