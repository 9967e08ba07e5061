// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <e4replay/allocator.h>
#include <e4replay/event.h>
#include <e4replay/image.h>
#include <e4replay/recording.h>
#include <e4replay/replay.h>
#include <e4replay/report.h>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "app/inputs.h"
#include "app/verification.h"
#include "report/replay_report.h"
#include "state/fs_state.h"

// The data behind the classes of the installed headers.
namespace e4replay {

// A file system in its start state, and its owner.
struct Image::Data {
  std::shared_ptr<const void> keep;  // owner of the file system if it comes from a recording
  std::optional<e4r::app::OpenedImage> opened;   // owner of the file system otherwise
  const e4r::image::Image* image = nullptr;      // points into `keep` or `opened`
  std::optional<e4r::state::Source> own_source;  // made from `opened`, if set
  const e4r::state::Source* source = nullptr;    // null if the bitmaps are not kept
  std::string path;                              // for opening the file again
  std::string name;                              // for messages
  e4r::allocator::Tunables tunables;             // as recorded, or the defaults
  FileSystem file_system;
  mutable std::mutex scanning;  // needed because a scan without kept bitmaps marks damaged groups
};

struct Recording::Data {
  e4r::app::Inputs inputs;
};

struct EventReader::Data {
  std::unique_ptr<e4r::trace::EventSource> source;
  std::span<const e4r::trace::Event> batch = {};
  std::size_t next = 0;  // index in the batch
};

struct Report::Data {
  e4r::report::ReplayReport report;
  bool verified = false;
};

// Gives the library's source files access to the private data of the classes.
class Access {
 public:
  template <class Object>
  static const auto& data(const Object& object) {
    return object.data_;
  }
  template <class Object, class Data>
  static Object make(Data data) {
    return Object(std::move(data));
  }
  static Report report(e4r::report::ReplayReport report, bool verified) {
    return Report(std::make_shared<const Report::Data>(Report::Data{std::move(report), verified}));
  }
  static EventReader reader(std::unique_ptr<e4r::trace::EventSource> events) {
    return EventReader(std::make_unique<EventReader::Data>(EventReader::Data{std::move(events)}));
  }
  static Recording recording(e4r::app::Inputs inputs) {
    return Recording(std::make_shared<Recording::Data>(Recording::Data{std::move(inputs)}));
  }
  static std::shared_ptr<Image::Data> image_data() { return std::make_shared<Image::Data>(); }
};

// Parses the device and the generation.
[[nodiscard]] e4r::Result<e4r::trace::ReadOptions> read_options(const TraceOptions& options);

// Adapts the listener of one call to the app layer. `listener` must outlive the object.
class Hearing {
 public:
  explicit Hearing(const Listener& listener)
      : progress_(listener.progress), listener_{progress_, [&listener](const std::string& line) {
                                                  if (listener.warn) listener.warn(line);
                                                }} {}
  Hearing(const Hearing&) = delete;
  Hearing& operator=(const Hearing&) = delete;

  [[nodiscard]] const e4r::app::Listener& listener() const { return listener_; }

 private:
  e4r::Progress progress_;
  e4r::app::Listener listener_;
};

[[nodiscard]] Decision public_decision(const e4r::allocator::Decision& decision);
[[nodiscard]] FreeExtents public_extents(const e4r::stats::FreeExtents& extents);
[[nodiscard]] FileSystem public_file_system(const e4r::image::SuperblockInfo& superblock);

}  // namespace e4replay
