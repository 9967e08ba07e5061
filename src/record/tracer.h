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
  std::uint32_t dev = 0;  // the device to trace
  TraceClock clock = TraceClock::mono;
  std::size_t buffer_kb = 4096;  // initial size for each CPU
  std::size_t most_buffer_kb = std::size_t{256} * 1024;
};

// Reads the events of a device through an Instance, which it owns.
class Tracer {
 public:
  // Enables the events, with tracing off. The Error names what is missing: ext4's events or memory.
  [[nodiscard]] static Result<std::unique_ptr<Tracer>> create(const TracerOptions& options,
                                                              Instance instance);
  virtual ~Tracer() = default;

  [[nodiscard]] virtual Status on() = 0;
  [[nodiscard]] virtual Status off() = 0;

  // Passes on the events that became complete since the last call, ordered by time over all CPUs.
  // With `all`, passes on everything; tracing must be off. Events that the kernel dropped appear as
  // lost_events markers and make the buffers grow. The sink may change the events.
  using Sink = std::function<Status(std::span<trace::Event>)>;
  [[nodiscard]] virtual Status read(bool all, const Sink& sink) = 0;

  [[nodiscard]] virtual trace::Generation generation() const = 0;
  // Adds the decoder's findings: generation, unknown flags and fields.
  virtual void report(trace::TraceSummary& summary) const = 0;
  // Lost events so far by CPU, for the CPUs that lost any.
  [[nodiscard]] virtual std::vector<capture::Losses> losses() const = 0;
  [[nodiscard]] virtual std::size_t buffer_kb() const = 0;
};

}  // namespace e4r::record
