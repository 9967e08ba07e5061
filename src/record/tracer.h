// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "capture/facts.h"
#include "record/clock.h"
#include "record/instance.h"
#include "trace/event.h"
#include "trace/summary.h"
#include "util/status.h"

namespace e4r::record {

struct TracerOptions {
  std::uint32_t dev = 0;  // whose events
  TraceClock clock = TraceClock::mono;
  std::size_t buffer_kb = 4096;  // of each CPU, to begin with
  std::size_t most_buffer_kb = std::size_t{256} * 1024;
};

// Reads the events of a device in an Instance, which goes with the object.
class Tracer {
 public:
  // Enables the events, with tracing off. The Error says what is missing: events of ext4, memory.
  [[nodiscard]] static Result<std::unique_ptr<Tracer>> create(const TracerOptions& options,
                                                              Instance instance);
  virtual ~Tracer() = default;

  [[nodiscard]] virtual Status on() = 0;
  [[nodiscard]] virtual Status off() = 0;

  // Hands over what has become known since the last call, in the order of time over all CPUs; with
  // `all`, everything: tracing is off. What the kernel dropped comes as lost_events markers, and
  // makes the buffers grow. The sink may change the events.
  using Sink = std::function<Status(std::span<trace::Event>)>;
  [[nodiscard]] virtual Status read(bool all, const Sink& sink) = 0;

  [[nodiscard]] virtual trace::Generation generation() const = 0;
  // Adds what the decoder knows: generation, strange flags and fields.
  virtual void report(trace::TraceSummary& summary) const = 0;
  // Events that were lost so far, by CPU; without those that lost none.
  [[nodiscard]] virtual std::vector<capture::Losses> losses() const = 0;
  [[nodiscard]] virtual std::size_t buffer_kb() const = 0;
};

}  // namespace e4r::record
