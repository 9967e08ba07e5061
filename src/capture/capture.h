// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "capture/facts.h"
#include "capture/image_parts.h"
#include "trace/packed.h"
#include "util/status.h"

namespace e4r::capture {

// Whether a file of that name begins as an .e4c file does. False when it cannot be read.
[[nodiscard]] bool is_capture(const std::string& path);

// An .e4c file: start image, events, and what was noted of the machine. Movable.
class Capture {
 public:
  // Reads all but the events, whose checksums are checked. A file that was cut short is opened,
  // with a note; damage anywhere is an Error.
  [[nodiscard]] static Result<Capture> open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const StartFacts& start() const { return start_; }
  // Null when the file was cut short.
  [[nodiscard]] const EndFacts* end() const { return ended_ ? &end_ : nullptr; }
  // The named text, or null.
  [[nodiscard]] const std::string* text(std::string_view name) const;
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& texts() const {
    return texts_;
  }
  // Empty when none was recorded.
  [[nodiscard]] const MemoryImage& image() const { return image_; }
  // Lines for a person: that it is cut short, that events were lost.
  [[nodiscard]] std::vector<std::string> notes() const;
  [[nodiscard]] bool cut_short() const { return cut_short_; }
  // It has no end because its recorder, on this machine, has not finished it.
  [[nodiscard]] bool being_recorded() const { return being_recorded_; }

  // Its events, as an .e4t file has them.
  [[nodiscard]] Result<std::unique_ptr<trace::Trace>> open_trace(
      const trace::OpenOptions& options = {}) const;
  [[nodiscard]] Result<trace::PackedTrace> load_trace(const trace::OpenOptions& options = {},
                                                      trace::EventSink* sink = nullptr) const;

 private:
  Status read();
  Status add_text(std::string_view part);

  std::string path_;
  StartFacts start_;
  EndFacts end_;
  bool ended_ = false;
  bool cut_short_ = false;
  bool being_recorded_ = false;
  std::map<std::string, std::string, std::less<>> texts_;
  MemoryImage image_;
};

}  // namespace e4r::capture
