// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "util/status.h"

namespace e4r::record {

// One line of /proc/self/mountinfo.
struct Mount {
  std::uint32_t dev = 0;  // encoded as by trace::make_dev()
  std::string root;       // the directory of the file system that is mounted
  std::string point;
  std::string type;  // the file system's type
  std::string source;
  std::string options;  // options of the mount and of the file system, comma-separated
};
[[nodiscard]] std::optional<Mount> parse_mountinfo_line(std::string_view line);

// The recorded object: a file system on a block device.
struct Volume {
  std::uint32_t dev = 0;
  std::string device_name;  // the kernel's name: "sda1", "dm-0", "cciss!c0d0"
  std::string device_path;  // "/dev/sda1"
  std::optional<Mount> mount;
};

// Finds the volume of `path`: a mount point, a file or directory in the file system, or a block
// device. The Error says what `path` is instead.
[[nodiscard]] Result<Volume> find_volume(const std::string& path);

// A device number of stat() in the form of trace::make_dev().
[[nodiscard]] std::uint32_t number_of(dev_t dev);
// The number of the device with that kernel name ("sda1").
[[nodiscard]] std::optional<std::uint32_t> device_number(const std::string& device_name);

// Whether a file system of that type is mounted.
[[nodiscard]] bool is_mounted(std::string_view type);

// The device's current mount, if any.
[[nodiscard]] std::optional<Mount> find_mount(std::uint32_t dev);

}  // namespace e4r::record
