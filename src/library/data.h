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

#include "app/followed.h"
#include "app/inputs.h"
#include "app/opened_image.h"
#include "report/replay_report.h"
#include "state/fs_state.h"

// What the classes of the installed headers hold.
namespace e4replay {

// A file system before anything is decided, and what keeps it.
struct Image::Data {
  std::shared_ptr<const void> keep;              // a recording's; null: `opened`
  std::optional<e4r::app::OpenedImage> opened;   // null: a recording's
  const e4r::image::Image* image = nullptr;      // either's
  std::optional<e4r::state::Source> own_source;  // of `opened`
  const e4r::state::Source* source = nullptr;    // either's; null: the bitmaps are not kept
  std::string path;                              // under which it can be opened again
  std::string name;                              // what messages call it
  e4r::allocator::Tunables tunables;             // that its mount has
  FileSystem file_system;
  mutable std::mutex scanning;  // an image without bitmaps notes damaged groups as it is scanned
};

struct Recording::Data {
  e4r::app::InputOptions options;
  e4r::app::Inputs inputs;
};

struct EventReader::Data {
  std::unique_ptr<e4r::trace::EventSource> source;
  std::span<const e4r::trace::Event> batch = {};
  std::size_t next = 0;  // of the batch
};

struct Report::Data {
  e4r::report::ReplayReport report;
  bool verified = false;
};

// Gives the library's own files what the classes keep to themselves.
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
  static std::shared_ptr<Image::Data> image_data() { return std::make_shared<Image::Data>(); }
};

// The listener of one call, as the use cases know it. `listener` must outlive the object.
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
