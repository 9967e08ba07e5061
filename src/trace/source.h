// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "trace/event.h"
#include "util/status.h"

namespace e4r::trace {

// The most events that the readers of this directory deliver at once.
inline constexpr std::size_t kBatchEvents = 256;

// A stream of events in recorded order. Not thread-safe: one consumer.
class EventSource {
 public:
  virtual ~EventSource() = default;
  // Returns the next batch, valid until the next call. Returns an empty batch at the end of the
  // trace and on every later call. An Error names file and line (text) or offset (.e4t).
  [[nodiscard]] virtual Result<std::span<const Event>> next() = 0;
};

struct TraceSummary;

// The choice of one of several devices, with its reason: "the one that fits the image".
struct DeviceChoice {
  std::uint32_t dev = 0;
  std::string why;
};

// Watches the events that another reader reads, in recorded order.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void see(std::span<const Event> events) = 0;
  // Discards everything seen so far. The reader then delivers the same events again from the first,
  // or other events.
  virtual void restart() = 0;
  // Called after all events of several devices. Returns the device to take; nothing leaves the
  // choice to the reader.
  [[nodiscard]] virtual std::optional<DeviceChoice> prefers(const TraceSummary& summary) const {
    (void)summary;
    return std::nullopt;
  }
};

}  // namespace e4r::trace
