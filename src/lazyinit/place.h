// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "util/status.h"

namespace e4r::lazyinit {

// Where a file system lies. As in libext2fs, "disk.img?offset=1048576" says that it starts at that
// byte of the file. If a file has such a name itself, the name means that file.
struct ImageLocation {
  std::string file;
  std::uint64_t offset = 0;
};

[[nodiscard]] ImageLocation place_of(const std::string& name);
[[nodiscard]] std::string name_of(const ImageLocation& place);

// The device that "LABEL=data" or "UUID=..." names, found as tune2fs(8) and mount(8) find it
// (libblkid). An Error if no device has that label or UUID, unless there is a file of such a name.
// Any other text is returned unchanged.
[[nodiscard]] Result<std::string> find_device(const std::string& text);

// What is known about a file or device before anything is written to it.
struct Storage {
  // Everything reads as zeros: the file does not exist yet, is empty, or is all holes. Always false
  // for a device, since it would have to be read.
  bool reads_as_zeros = false;
  // Zeros stay zeros until they are written: on a regular file, on a loop device on one, and on a
  // device that cannot discard. Any other device may show zeros where a block was discarded, and
  // something else later. No attribute of Linux's block devices promises otherwise
  // (queue/discard_zeroes_data has been 0 since 4.12).
  bool zeros_last = false;
};

[[nodiscard]] Storage look_at_storage(const std::string& path);

// Reads a block device's file in sysfs, such as "queue/discard_max_bytes"; for a partition also its
// disk's. The text has no newline at its end.
[[nodiscard]] std::optional<std::string> device_attribute(dev_t device, const std::string& name);

}  // namespace e4r::lazyinit
