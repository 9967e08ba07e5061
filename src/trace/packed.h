// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace e4r::trace {

// A whole trace of one device, packed in memory. Cheap to copy, since copies share the data.
// Several threads may use it at once.
class PackedTrace {
 public:
  // Returns an independent reader that starts at the beginning and keeps the data alive. Its next()
  // never fails on data that load_packed() accepted.
  [[nodiscard]] std::unique_ptr<EventSource> cursor() const;

  // Summarises the chosen device's events. `devices` and `cpus` count the whole file.
  [[nodiscard]] const TraceSummary& summary() const;
  [[nodiscard]] std::uint32_t device() const;
  [[nodiscard]] std::uint64_t events() const { return summary().events; }
  [[nodiscard]] std::uint64_t packed_bytes() const;
  // The lines that a tool should print: notes(summary()), and a line about the chosen device if
  // there are several.
  [[nodiscard]] std::vector<std::string> notes() const;
  [[nodiscard]] const std::string& name() const;

 private:
  friend class Packer;
  struct Data;
  explicit PackedTrace(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
};

// Reads a whole trace of one device: options.device, else the only one, else the one that `sink`
// prefers, else the busiest. Fails on read errors, on a trace without events, and if the trace
// lacks options.device (the message lists the trace's devices). `sink`, if any, sees the events of
// the result.
[[nodiscard]] Result<PackedTrace> load_packed(const std::string& path,
                                              const ReadOptions& options = {},
                                              EventSink* sink = nullptr);
// Does the same for a trace that was opened with late_generation.
[[nodiscard]] Result<PackedTrace> pack(Trace& trace, const ReadOptions& options = {},
                                       EventSink* sink = nullptr);
[[nodiscard]] Result<PackedTrace> load_packed_bytes(std::string_view bytes, const std::string& name,
                                                    const ReadOptions& options = {});

}  // namespace e4r::trace
