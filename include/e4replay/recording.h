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

// The files to replay: a capture, or a start image and its trace.
struct RecordingOptions {
  std::string image = {};  // a capture (.e4c), or the start image
  std::string trace = {};  // empty: `image` is a capture
  // A file with the tunables of the recorded kernel. If empty, they are taken from the capture, or
  // from the tunables file next to the trace.
  std::string tunables_file = {};
  TraceOptions events = {};  // without a device: the busiest one
  bool strict = false;       // as in ImageOptions
  unsigned threads = 0;      // as in ImageOptions
};

// A capture, or an image with its trace, read into memory for replays.
//
// Cheap to copy: copies share the data. Several threads may call member functions at once.
class Recording {
 public:
  // Errors: a file that cannot be read; a trace that does not belong to the image.
  [[nodiscard]] E4REPLAY_API static Result<Recording> open(const RecordingOptions& options,
                                                           const Listener& listener = {});
  // Opens a capture.
  [[nodiscard]] E4REPLAY_API static Result<Recording> open(const std::string& capture,
                                                           const Listener& listener = {});
  // Like open(), but accepts a file that unpacks to more than 500 times its size. No real recording
  // does.
  [[nodiscard]] E4REPLAY_API static Result<Recording> open_any_ratio(
      const RecordingOptions& options, const Listener& listener = {});
  E4REPLAY_API Recording(const Recording&);
  E4REPLAY_API Recording(Recording&&) noexcept;
  E4REPLAY_API Recording& operator=(const Recording&);
  E4REPLAY_API Recording& operator=(Recording&&) noexcept;
  E4REPLAY_API ~Recording();

  // The file system before the first event, with its bitmaps.
  [[nodiscard]] E4REPLAY_API Image image() const;
  // A reader of the recorded device's events, positioned at the first event.
  [[nodiscard]] E4REPLAY_API EventReader events() const;
  [[nodiscard]] E4REPLAY_API std::uint64_t event_count() const;
  // The release of the recorded kernel, as `uname -r` prints it; empty if unknown.
  [[nodiscard]] E4REPLAY_API std::string release() const;
  // The tunables of the recorded kernel, each as NAME=VALUE. Those that were not recorded have the
  // kernel's defaults.
  [[nodiscard]] E4REPLAY_API std::vector<std::string> tunables() const;

 private:
  friend class Access;
  struct Data;
  explicit Recording(std::shared_ptr<Data> data);
  std::shared_ptr<Data> data_;
};

}  // namespace e4replay
