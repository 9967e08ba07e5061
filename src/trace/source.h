// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

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

struct TraceSummary;

// One of several devices, and why it is taken: "the one that fits the image".
struct DeviceChoice {
  std::uint32_t dev = 0;
  std::string why;
};

// Looks at events in recorded order as somebody else reads them.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void see(std::span<const Event> events) = 0;
  // What it has seen does not count: the events come again from the first, or others do.
  virtual void restart() = 0;
  // After all events of several devices: the device to take. Nothing: its reader chooses.
  [[nodiscard]] virtual std::optional<DeviceChoice> prefers(const TraceSummary& summary) const {
    (void)summary;
    return std::nullopt;
  }
};

}  // namespace e4r::trace
