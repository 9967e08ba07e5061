// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "util/status.h"

namespace e4r::record {

// The name of a recorder's trace instance says who it is and what is to be put back should it be
// killed: "e4replay-PID-DEVICE", and "+mb_stats" behind it when it made the kernel count those.
struct InstanceName {
  int pid = 0;
  std::string device_name;
  bool stats_switched = false;
};
[[nodiscard]] std::string to_string(const InstanceName& name);
// False when it is no name of ours.
[[nodiscard]] bool parse_instance_name(std::string_view text, InstanceName& name);

// Removes the instances of recorders that are gone, and stops the counting that they began. Returns
// their names.
[[nodiscard]] Result<std::vector<std::string>> remove_stale_instances();

}  // namespace e4r::record
