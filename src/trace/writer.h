// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "trace/trace.h"
#include "util/output.h"

namespace e4r::trace {

// Writes a trace file. The name selects the form: ".e4t", or ".txt" for ftrace text, which lacks
// the facts of a summary; either may end in ".zst". The file appears only when finish() succeeds;
// until then, and after any failure, an existing file of that name stays as it was.
class TraceWriter {
 public:
  [[nodiscard]] static Result<std::unique_ptr<TraceWriter>> create(const OutputName& name);
  // Fails if the name selects no form. Lets callers validate a name before any work starts.
  [[nodiscard]] static Status check_name(const std::string& path);
  virtual ~TraceWriter() = default;
  // `generation` is the generation as far as it is known. It must be known by the first search.
  [[nodiscard]] virtual Status add(std::span<const Event> events, Generation generation) = 0;
  [[nodiscard]] virtual Status finish(const TraceSummary& summary) = 0;
};

// Copies the events that `keep` accepts to a writer and finishes it. `keep` gets each event and its
// number, from 1. Returns the number of events written.
using EventFilter = std::function<bool(const Event& event, std::uint64_t number)>;
[[nodiscard]] Result<std::uint64_t> copy_trace(Trace& trace, TraceWriter& writer,
                                               const EventFilter& keep = nullptr);

}  // namespace e4r::trace
