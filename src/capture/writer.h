// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "capture/capture.h"
#include "capture/container.h"
#include "trace/e4t/file.h"
#include "trace/event.h"
#include "trace/summary.h"

namespace e4r::capture {

// Writes an .e4c file during a recording. Calls must come in the order of the file: start(), text()
// and image(), events(), end_events(), text(), finish().
class CaptureWriter {
 public:
  // Writes to `file`, or to a new file `name`. No file of that name may exist.
  [[nodiscard]] static Result<std::unique_ptr<CaptureWriter>> create(const OutputName& name);
  // `version` must be kCheckpointVersion for a capture with a checkpoint.
  [[nodiscard]] static Result<std::unique_ptr<CaptureWriter>> create(
      std::unique_ptr<trace::OutputFile> file, std::uint16_t version = kVersion);

  [[nodiscard]] Status start(const StartFacts& facts);
  // A name has at most 255 bytes and must not be kStart or kEnd of capture.h.
  [[nodiscard]] Status text(std::string_view name, std::string_view text);
  // Writes one part from an ImagePacker.
  [[nodiscard]] Status image(std::string_view part);
  [[nodiscard]] Status events(std::span<const trace::Event> events, trace::Generation generation);
  // Writes all events so far to the file, so no event is lost if the recorder is killed.
  [[nodiscard]] Status flush();
  // Ends the events.
  [[nodiscard]] Status end_events(const trace::TraceSummary& summary);
  [[nodiscard]] Status finish(const EndFacts& facts);
  // Removes the file if nothing was recorded.
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
