// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/bytes.h"
#include "trace/decoder.h"
#include "trace/event.h"
#include "trace/summary.h"
#include "util/status.h"

namespace e4r::trace {

namespace e4t {
class PackedBlocks;
}

struct ReadOptions {
  // Instead of failing, skip and count malformed lines, and stop at damaged or truncated data.
  bool lenient = false;
  // Malformed events of kinds outside this set are always skipped and counted.
  KindSet needed = KindSet::all();
  // Deliver only this device's events (Event::dev). lost_events markers are always delivered.
  std::optional<std::uint32_t> device;
  // The kernel that printed the trace; unknown: detect it. Determines the meaning of "cr" digits.
  Generation generation = Generation::unknown;
  // For callers that can revisit delivered events: a criterion that disproves the assumption of 6.1
  // is not an Error. The caller must correct the first summary().reread_before events with
  // reread_criterion().
  bool late_generation = false;
  // The trace format; unknown: detect it.
  Format format = Format::unknown;
  // Read only this buffer of a trace-cmd recording: "" is the top one, otherwise an instance's
  // name.
  std::optional<std::string> buffer;
  // Decompress in a separate thread.
  bool read_ahead = true;
  // Accept data whose compression ratio exceeds the ratio of real recordings.
  bool any_ratio = false;
};

// A trace that is being read: its events in recorded order, and the facts known so far. Delivers
// the events of every device unless ReadOptions::device selects one.
class Trace : public EventSource {
 public:
  // The summary is complete once next() has returned an empty batch.
  [[nodiscard]] const TraceSummary& summary() const { return summary_; }
  // The trace's name in messages.
  [[nodiscard]] const std::string& name() const { return name_; }

  // Call before the first next(). Returns true if the file holds its events in the packed form of
  // `store`. next() then adds the file's blocks to `store`, which must outlive the last next(). No
  // other code may add to `store`.
  [[nodiscard]] virtual bool keep_packed(e4t::PackedBlocks& store) {
    (void)store;
    return false;
  }

 protected:
  explicit Trace(std::string name) : name_(std::move(name)) {}
  // Counts damage and reports it: as an Error that names the trace, or, if `lenient`, as a warning.
  [[nodiscard]] Status damage(bool lenient, std::string_view what);

  TraceSummary summary_;

 private:
  std::string name_;
};

// Opens a trace of any format, compressed or not; "-" is standard input. If no format fits, the
// Error lists the formats; for a perf.data file it says how to convert it.
[[nodiscard]] Result<std::unique_ptr<Trace>> open_trace(const std::string& path,
                                                        const ReadOptions& options = {});

// Opens a trace in memory. `bytes` must outlive the trace. Messages call it `name`.
[[nodiscard]] Result<std::unique_ptr<Trace>> open_trace_bytes(std::string_view bytes,
                                                              const std::string& name,
                                                              const ReadOptions& options = {});

// Opens a trace from a source of decompressed bytes.
[[nodiscard]] Result<std::unique_ptr<Trace>> open_trace_source(std::unique_ptr<ByteSource> bytes,
                                                               const std::string& name,
                                                               const ReadOptions& options = {});

// Converts a criterion that was read as a 6.1 criterion to the criterion of a 6.5 or 6.6 kernel.
[[nodiscard]] mb::Criterion reread_criterion(mb::Criterion criterion);

// Parses "8:1" or "8,1" to an Event::dev.
[[nodiscard]] Result<std::uint32_t> parse_device(std::string_view text);
// Formats a device as the trace prints it, "8,1".
[[nodiscard]] std::string device_name(std::uint32_t dev);
// Parses "6.1", "6.5" or "cr1.5".
[[nodiscard]] Result<Generation> parse_generation(std::string_view text);

}  // namespace e4r::trace
