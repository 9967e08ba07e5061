// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "capture/container.h"
#include "capture/facts.h"
#include "trace/e4t/file.h"
#include "trace/event.h"
#include "trace/summary.h"

namespace e4r::capture {

// Writes an .e4c file as a recording goes on. The order of calls is the order in the file:
// start(), any text() and image(), events, text(), finish().
class CaptureWriter {
 public:
  // The file of that name, which must not exist, or `file`.
  [[nodiscard]] static Result<std::unique_ptr<CaptureWriter>> create(const OutputName& name);
  [[nodiscard]] static Result<std::unique_ptr<CaptureWriter>> create(
      std::unique_ptr<trace::OutputFile> file);

  [[nodiscard]] Status start(const StartFacts& facts);
  // Names are at most 255 bytes, other than those of facts.h's start and end.
  [[nodiscard]] Status text(std::string_view name, std::string_view text);
  // A part of an ImagePacker's.
  [[nodiscard]] Status image(std::string_view part);
  [[nodiscard]] Status events(std::span<const trace::Event> events, trace::Generation generation);
  // Has all events so far in the file, so that none is lost if the recorder is killed.
  [[nodiscard]] Status flush();
  // No more events.
  [[nodiscard]] Status end_events(const trace::TraceSummary& summary);
  [[nodiscard]] Status finish(const EndFacts& facts);
  // Removes the file: nothing was recorded.
  void abandon() { container_.abandon(); }
  [[nodiscard]] std::uint64_t bytes_written() const { return container_.bytes_written(); }

 private:
  explicit CaptureWriter(ContainerWriter container) : container_(std::move(container)) {}
  Status hand_over(std::size_t beyond);

  ContainerWriter container_;
  std::string buffer_;
  trace::e4t::Writer e4t_{buffer_};
  bool began_ = false;
};

}  // namespace e4r::capture
