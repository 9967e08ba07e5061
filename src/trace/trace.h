// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/bytes.h"
#include "trace/event.h"
#include "trace/source.h"
#include "trace/summary.h"
#include "trace/wanted.h"
#include "util/status.h"

namespace e4r::trace {

namespace e4t {
class Store;
}

struct OpenOptions {
  // Skip and count malformed lines, and end at damaged or truncated data, instead of failing.
  bool lenient = false;
  // A malformed event of another kind is skipped and counted, lenient or not.
  KindSet needed = KindSet::all();
  // Deliver the events of this device only (Event::dev); lost_events markers come through always.
  std::optional<std::uint32_t> device;
  // Which kernel printed the trace; unknown: find out. Decides what bare "cr" digits mean.
  Generation generation = Generation::unknown;
  // For callers that can go back: a criterion that disproves the guess of 6.1 is no Error; the
  // first summary().reread_before events must be put right with reread_criterion().
  bool late_generation = false;
  // Read as this format; unknown: find out.
  Format format = Format::unknown;
  // Of a trace-cmd recording, this buffer only: "" is the top one, else an instance's name.
  std::optional<std::string> buffer;
  // Decompress in a thread of its own.
  bool read_ahead = true;
  // Read what unpacks to more than a recording does, too.
  bool any_ratio = false;
};

// A trace that is being read: its events in recorded order, and what is known about it so far.
// Without OpenOptions::device it delivers the events of every device.
class Trace : public EventSource {
 public:
  // Complete once next() has returned an empty batch.
  [[nodiscard]] const TraceSummary& summary() const { return summary_; }
  // The name that messages use.
  [[nodiscard]] const std::string& name() const { return name_; }

  // Before the first next(). True: the file has the events as `store` would pack them, next() puts
  // its blocks there, and nobody else must add to it. `store` must outlive the last next().
  [[nodiscard]] virtual bool keep_packed(e4t::Store& store) {
    (void)store;
    return false;
  }

 protected:
  explicit Trace(std::string name) : name_(std::move(name)) {}
  TraceSummary summary_;

 private:
  std::string name_;
};

// Opens a trace of any format, compressed or not; "-" is standard input. Says which format when
// none fits, and what to do with a perf.data file.
[[nodiscard]] Result<std::unique_ptr<Trace>> open_trace(const std::string& path,
                                                        const OpenOptions& options = {});

// The same for a trace in memory, which must outlive it. `name` is what messages call it.
[[nodiscard]] Result<std::unique_ptr<Trace>> open_trace_bytes(std::string_view bytes,
                                                              const std::string& name,
                                                              const OpenOptions& options = {});

// The same for bytes from elsewhere, decompressed.
[[nodiscard]] Result<std::unique_ptr<Trace>> open_trace_source(std::unique_ptr<ByteSource> bytes,
                                                               const std::string& name,
                                                               const OpenOptions& options = {});

// What a criterion that was taken for 6.1's is after all on a 6.5 or 6.6 kernel.
[[nodiscard]] mb::Criterion reread_criterion(mb::Criterion criterion);

// "8:1" or "8,1" as an Event::dev.
[[nodiscard]] Result<std::uint32_t> parse_device(std::string_view text);
// "8,1", as the trace prints it.
[[nodiscard]] std::string device_name(std::uint32_t dev);
// "6.1", "6.5" or "cr1.5".
[[nodiscard]] Result<Generation> parse_generation(std::string_view text);

}  // namespace e4r::trace
