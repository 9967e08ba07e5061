// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "trace/trace.h"
#include "util/output.h"
#include "util/status.h"

namespace e4r::trace {

class OutputFile {
 public:
  // Creates an output (util/output.h). The file appears complete on commit(), or not at all. A name
  // that ends in ".zst" is compressed.
  [[nodiscard]] static Result<std::unique_ptr<OutputFile>> create(const OutputName& name);
  // Creates a file that has its final name from the beginning and grows with each write, so an
  // unfinished file can be read. The file remains even if it is never committed. No file of that
  // name may exist.
  [[nodiscard]] static Result<std::unique_ptr<OutputFile>> create_growing(const OutputName& name);
  virtual ~OutputFile() = default;
  [[nodiscard]] virtual Status write(std::string_view bytes) = 0;
  // Ends the file, syncs it to disk and gives it its final name, replacing any file of that name.
  [[nodiscard]] virtual Status commit() = 0;
  // Removes a growing file that holds nothing worth keeping. Other files do not need this, since
  // they appear only on commit().
  virtual void abandon() {}
};

// Writes a trace file. The name selects the format: ".e4t", or ".txt" for ftrace text, which does
// not store the summary. ".zst" may follow either. The file appears only when finish() succeeds;
// until then, and after any failure, an existing file of that name stays as it was.
class TraceWriter {
 public:
  [[nodiscard]] static Result<std::unique_ptr<TraceWriter>> create(const OutputName& name);
  // Fails if the name selects no format. Callers use it to validate a name before any work starts.
  [[nodiscard]] static Status check_name(const std::string& path);
  virtual ~TraceWriter() = default;
  // `generation` is the kernel's generation, or unknown. It must be known by the time of the first
  // search.
  [[nodiscard]] virtual Status add(std::span<const Event> events, Generation generation) = 0;
  [[nodiscard]] virtual Status finish(const TraceSummary& summary) = 0;
};

// Copies the events that `keep` accepts to a writer and finishes the file. `keep` gets each event
// and its number, from 1. Returns the number of events written.
using EventFilter = std::function<bool(const Event& event, std::uint64_t number)>;
[[nodiscard]] Result<std::uint64_t> copy_trace(Trace& trace, TraceWriter& writer,
                                               const EventFilter& keep = nullptr);

}  // namespace e4r::trace
