// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capture/capture.h"
#include "record/merger.h"
#include "trace/event.h"
#include "trace/summary.h"
#include "util/fd.h"
#include "util/status.h"

struct tracefs_instance;

namespace e4r::record {

// The name of a recorder's trace instance: "e4replay-PID-DEVICE", followed by "+mb_stats" if the
// recorder made the kernel count mb_stats. It identifies the recorder and what must be restored if
// the recorder is killed.
struct InstanceName {
  int pid = 0;
  std::string device_name;
  bool counts = false;
};
[[nodiscard]] std::string to_string(const InstanceName& name);
// Returns false if `text` is not such a name.
[[nodiscard]] bool parse_instance_name(std::string_view text, InstanceName& name);

// Makes libtracefs use the mounted tracefs. If tracefs is not mounted, mounts it for this process
// alone: no other process sees that mount, and it ends with the process.
[[nodiscard]] Status find_tracefs();

// Recorders start and end one at a time. Waits for this recorder's turn, which ends when the
// returned descriptor is closed. A process must not wait for a second turn before that.
[[nodiscard]] Fd take_turn();

// A trace instance (Documentation/trace/ftrace.rst, "Instances") with its own buffers, events and
// filters. A lock on its directory (flock) shows that its recorder lives. Movable. The destructor
// restores everything that the instance changed.
class Instance {
 public:
  // Creates an instance with tracing off. If the kernel does not count mb_stats for the device,
  // switches the counting on; the device's last recorder switches it off again. The Error names
  // what is missing: permission or tracefs.
  [[nodiscard]] static Result<Instance> create(const std::string& device_name);
  Instance(Instance&& other) noexcept;
  Instance& operator=(Instance&& other) = delete;
  ~Instance();
  [[nodiscard]] tracefs_instance* get() const { return instance_; }

 private:
  explicit Instance(InstanceName name) : name_(std::move(name)) {}
  [[nodiscard]] Status make(const std::string& place);

  InstanceName name_;
  tracefs_instance* instance_ = nullptr;
  Fd lock_;
};

// Restores what recorders that no longer live have left: thaws their file systems, removes their
// instances, and stops the counting that they started. Returns one line for each action.
[[nodiscard]] Result<std::vector<std::string>> clean_up_stale();

struct TracerOptions {
  std::uint32_t dev = 0;  // the device to trace
  TraceClock clock = TraceClock::mono;
  std::size_t buffer_kb = 4096;  // initial size, for each CPU
  std::size_t most_buffer_kb = std::size_t{256} * 1024;
  bool probes = false;  // also record the order of effect, if the kernel can (Probes)
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

  // The longest time between an event's time stamp and its arrival in the buffer, unless the
  // machine itself stalls. read() passes on events that are older than this.
  static constexpr std::uint64_t kSlackNs = 200'000'000;

  // Passes on the events that became complete since the last call, ordered by time over all CPUs.
  // With `all`, passes on everything; tracing must be off. Events that the kernel dropped appear as
  // lost_events markers and make the buffers grow. The sink may change the events.
  using Sink = std::function<Status(std::span<trace::Event>)>;
  [[nodiscard]] virtual Status read(bool all, const Sink& sink) = 0;

  [[nodiscard]] virtual trace::Generation generation() const = 0;
  // Adds what the decoder found: the generation, unknown flags and unknown fields.
  virtual void report(trace::TraceSummary& summary) const = 0;
  // Lost events so far, for each CPU that lost any.
  [[nodiscard]] virtual std::vector<capture::Losses> losses() const = 0;
  [[nodiscard]] virtual std::size_t buffer_kb() const = 0;
  // Why the kernel has no probes although they were wanted; empty otherwise.
  [[nodiscard]] virtual const std::string& without_probes() const = 0;
};

}  // namespace e4r::record
