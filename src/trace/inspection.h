// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <vector>

#include "trace/exactness.h"
#include "trace/trace.h"

namespace e4r::trace {

// The contents of a trace and the obstacles to an exact replay of one of its devices.
struct Inspection {
  std::string name;
  TraceSummary summary;  // of the events of `device`
  std::uint32_t device = 0;
  std::vector<std::string> notes;
  std::vector<std::string> obstacles;  // to an exact replay
  std::vector<std::string> remarks;
};

// Reads the trace to its end without keeping its events. The trace must have been opened with
// late_generation. Fails as reading and choose_device() do.
[[nodiscard]] Result<Inspection> inspect(Trace& trace, std::optional<std::uint32_t> device,
                                         const KnownOfRecording& known);

}  // namespace e4r::trace
