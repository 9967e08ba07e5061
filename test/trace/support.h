// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.h"

namespace e4r::trace::test {

// A trace read to its end: the events before the first error, that error, and the summary.
struct ReadTrace {
  std::vector<Event> events;
  std::string error;
  TraceSummary summary;
};

inline ReadTrace read_all(Trace& trace) {
  ReadTrace out;
  for (;;) {
    const auto batch = trace.next();
    if (!batch.ok()) out.error = batch.error().message;
    if (!batch.ok() || batch->empty()) break;
    out.events.insert(out.events.end(), batch->begin(), batch->end());
  }
  out.summary = trace.summary();
  return out;
}

// Reads a trace from memory under the name "t".
inline ReadTrace read_text(std::string_view text, const OpenOptions& options = {}) {
  const auto trace = open_trace_bytes(text, "t", options);
  if (trace.ok()) return read_all(**trace);
  ReadTrace out;
  out.error = trace.error().message;
  return out;
}

}  // namespace e4r::trace::test
