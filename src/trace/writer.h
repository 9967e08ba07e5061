// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "trace/trace.h"
#include "util/output.h"

namespace e4r::trace {

// Writes a trace file of the form that its name asks for: ".e4t" or ".txt" (ftrace text, without
// the facts that a summary holds), either with ".zst" behind it. The file appears once finish() has
// succeeded; until then, and after any failure, nothing of that name is touched.
class TraceWriter {
 public:
  [[nodiscard]] static Result<std::unique_ptr<TraceWriter>> create(const OutputName& name);
  // The Error for a name that asks for no such form: for who works before writing.
  [[nodiscard]] static Status check_name(const std::string& path);
  virtual ~TraceWriter() = default;
  // `generation`: as far as it is known; it must be by the first search.
  [[nodiscard]] virtual Status add(std::span<const Event> events, Generation generation) = 0;
  [[nodiscard]] virtual Status finish(const TraceSummary& summary) = 0;
};

// Copies what `keep` wants of a trace to a writer and finishes it. `keep` is told each event and
// its number, from 1. Returns how many events were written.
using EventFilter = std::function<bool(const Event& event, std::uint64_t number)>;
[[nodiscard]] Result<std::uint64_t> copy_trace(Trace& trace, TraceWriter& writer,
                                               const EventFilter& keep = nullptr);

}  // namespace e4r::trace
