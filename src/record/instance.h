// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "util/fd.h"
#include "util/status.h"

struct tracefs_instance;

namespace e4r::record {

// The name of a recorder's trace instance: "e4replay-PID-DEVICE", followed by "+mb_stats" if the
// recorder made the kernel count those. It tells whose instance this is, and what to restore if the
// recorder is killed.
struct InstanceName {
  int pid = 0;
  std::string device_name;
  bool counts = false;
};
[[nodiscard]] std::string to_string(const InstanceName& name);
// Returns false if the text is not such a name.
[[nodiscard]] bool parse_instance_name(std::string_view text, InstanceName& name);

// Makes libtracefs use the mounted tracefs. If tracefs is not mounted, mounts it for this process
// alone: no other process sees that mount, and it ends with the process.
[[nodiscard]] Status find_tracefs();

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
[[nodiscard]] Result<std::vector<std::string>> put_back_stale();

}  // namespace e4r::record
