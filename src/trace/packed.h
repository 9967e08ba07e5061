// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace e4r::trace {

// A whole trace of one device in memory, packed. Cheap to copy (the data are shared) and safe to
// use from several threads.
class PackedTrace {
 public:
  // An independent reader from the beginning; it keeps the data alive. Its next() cannot fail for
  // any reason that load_packed() would not have found.
  [[nodiscard]] std::unique_ptr<EventSource> cursor() const;

  // Of the chosen device's events; `devices` and `cpus` count all that the file holds.
  [[nodiscard]] const TraceSummary& summary() const;
  [[nodiscard]] std::uint32_t device() const;
  [[nodiscard]] std::uint64_t events() const { return summary().events; }
  [[nodiscard]] std::uint64_t packed_bytes() const;
  // What a tool should say aloud: notes(summary()), and which of several devices was taken.
  [[nodiscard]] std::vector<std::string> notes() const;
  [[nodiscard]] const std::string& name() const;

 private:
  friend class Packer;
  struct Data;
  explicit PackedTrace(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
};

// Reads a whole trace. The device is options.device, else the only one, else the one that `sink`
// prefers, else the busiest. Errors:
// those of reading, a trace without events, a device that the trace does not have (the message
// lists those it has). `sink`, if any, sees the events that the result has.
[[nodiscard]] Result<PackedTrace> load_packed(const std::string& path,
                                              const OpenOptions& options = {},
                                              EventSink* sink = nullptr);
// The same for a trace that was opened with late_generation.
[[nodiscard]] Result<PackedTrace> pack(Trace& trace, const OpenOptions& options = {},
                                       EventSink* sink = nullptr);
[[nodiscard]] Result<PackedTrace> load_packed_bytes(std::string_view bytes, const std::string& name,
                                                    const OpenOptions& options = {});

}  // namespace e4r::trace
