// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <vector>

#include "trace/exactness.h"
#include "trace/trace.h"

namespace e4r::trace {

// What is in a trace, and what stands in the way of an exact replay of one of its devices.
struct Inspection {
  std::string name;
  TraceSummary summary;  // of that device's events
  std::uint32_t device = 0;
  std::vector<std::string> notes;
  std::vector<std::string> obstacles;  // to an exact replay
  std::vector<std::string> remarks;
};

// Reads the trace to its end and keeps none of its events. It must have been opened with
// late_generation. Errors: those of reading and of choose_device().
[[nodiscard]] Result<Inspection> inspect(Trace& trace, std::optional<std::uint32_t> device,
                                         const KnownOfRecording& known);

}  // namespace e4r::trace
