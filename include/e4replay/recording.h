// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <e4replay/event.h>
#include <e4replay/export.h>
#include <e4replay/image.h>
#include <e4replay/listener.h>
#include <e4replay/result.h>

namespace e4replay {

// What is replayed: a capture, or a start image and the trace of what happened to it.
struct RecordingOptions {
  std::string image = {};          // a capture (.e4c), or the start image
  std::string trace = {};          // empty: `image` is a capture
  std::string tunables_file = {};  // of the recorded kernel; empty: the capture's, or the file
                                   // beside the trace
  TraceOptions events = {};        // without a device: the only one, or the busiest
  bool strict = false;             // as in ImageOptions
  unsigned threads = 0;            // likewise
};

// A capture, or an image with its trace, read into memory: what replays are made of.
//
// Cheap to copy: copies share what was read. All member functions may be called from several
// threads at once.
class Recording {
 public:
  // Errors: what cannot be read; a trace that is none of this image.
  [[nodiscard]] E4REPLAY_API static Result<Recording> open(const RecordingOptions& options,
                                                           const Listener& listener = {});
  // The same of one capture.
  [[nodiscard]] E4REPLAY_API static Result<Recording> open(const std::string& capture,
                                                           const Listener& listener = {});
  E4REPLAY_API Recording(const Recording&);
  E4REPLAY_API Recording(Recording&&) noexcept;
  E4REPLAY_API Recording& operator=(const Recording&);
  E4REPLAY_API Recording& operator=(Recording&&) noexcept;
  E4REPLAY_API ~Recording();

  // The file system as it was before the first event, with its bitmaps.
  [[nodiscard]] E4REPLAY_API Image image() const;
  // The events of the recorded device, from the first one on.
  [[nodiscard]] E4REPLAY_API EventReader events() const;
  [[nodiscard]] E4REPLAY_API std::uint64_t event_count() const;
  // Of the recorded kernel, as `uname -r`; empty: not known.
  [[nodiscard]] E4REPLAY_API std::string release() const;
  // Its tunables, each as NAME=VALUE; those that nobody noted are the kernel's defaults.
  [[nodiscard]] E4REPLAY_API std::vector<std::string> tunables() const;

 private:
  friend class Access;
  struct Data;
  explicit Recording(std::shared_ptr<Data> data);
  std::shared_ptr<Data> data_;
};

}  // namespace e4replay
