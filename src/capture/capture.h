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

// Whether the file begins like an .e4c file. False when it cannot be read.
[[nodiscard]] bool is_capture(const std::string& path);

// An .e4c file: start image, events, and the recorder's notes on the machine. Movable.
class Capture {
 public:
  // Reads everything except the events, whose checksums it only checks. A file that was cut short
  // opens with a note. Damage anywhere is an Error.
  [[nodiscard]] static Result<Capture> open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const StartFacts& start() const { return start_; }
  // Null if the file was cut short.
  [[nodiscard]] const EndFacts* end() const { return ended_ ? &end_ : nullptr; }
  // The text of that name, or null.
  [[nodiscard]] const std::string* text(std::string_view name) const;
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& texts() const {
    return texts_;
  }
  // Empty if no image was recorded.
  [[nodiscard]] const MemoryImage& image() const { return image_; }
  // Lines for a person: the file is cut short, or events were lost.
  [[nodiscard]] std::vector<std::string> notes() const;
  [[nodiscard]] bool cut_short() const { return cut_short_; }
  // Whether it has no end because a recorder on this machine is still writing it.
  [[nodiscard]] bool being_recorded() const { return being_recorded_; }

  // The events, as from an .e4t file.
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
  std::size_t text_bytes_ = 0;  // of all texts
  MemoryImage image_;
};

}  // namespace e4r::capture
