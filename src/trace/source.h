// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <span>

#include "trace/event.h"
#include "util/status.h"

namespace e4r::trace {

// A stream of events in recorded order. Not thread-safe: one consumer.
class EventSource {
 public:
  virtual ~EventSource() = default;
  // The next batch; empty at the end of the trace (and on every call after that). The span stays
  // valid until the next call. An Error names file and line (text) or offset (.e4t).
  [[nodiscard]] virtual Result<std::span<const Event>> next() = 0;
};

}  // namespace e4r::trace
