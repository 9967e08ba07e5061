// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "util/fd.h"
#include "util/status.h"

struct tracefs_instance;

namespace e4r::record {

// The name of a recorder's trace instance says whose it is and what is to be put back should the
// recorder be killed: "e4replay-PID-DEVICE", and "+mb_stats" behind it when the kernel counts those
// for its sake.
struct InstanceName {
  int pid = 0;
  std::string device_name;
  bool counts = false;
};
[[nodiscard]] std::string to_string(const InstanceName& name);
// False when it is no name of ours.
[[nodiscard]] bool parse_instance_name(std::string_view text, InstanceName& name);

// Has libtracefs use tracefs where it is mounted. Where it is not, this process mounts it for
// itself: nobody else sees that mount, and it ends with the process, however that goes.
[[nodiscard]] Status find_tracefs();

// A trace instance (Documentation/trace/ftrace.rst, "Instances"): its buffers, events and filters
// are nobody else's. A lock on its directory (flock) says that its recorder lives. Movable; all
// that it has changed is put back with the object.
class Instance {
 public:
  // Makes one, with tracing off. Where the kernel does not count what mb_stats shows of the device,
  // it does from now on; the last recorder of a device has it stop again. The Error says what is
  // missing: permission, tracefs.
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

// Puts back what recorders that are gone have left: thaws their file systems, removes their
// instances, and stops the counting that they began. Returns a line for each thing that was done.
[[nodiscard]] Result<std::vector<std::string>> put_back_stale();

}  // namespace e4r::record
