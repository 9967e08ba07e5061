// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "util/status.h"

namespace e4r::lazyinit {

// The location of a file system. As in libext2fs, "disk.img?offset=1048576" means that it starts at
// that byte of the file. If a file with that whole name exists, the name means that file.
struct ImageLocation {
  std::string file;
  std::uint64_t offset = 0;
};

[[nodiscard]] ImageLocation place_of(const std::string& name);
[[nodiscard]] std::string name_of(const ImageLocation& place);

// The device that "LABEL=data" or "UUID=..." names, found as tune2fs(8) and mount(8) find it
// (libblkid). Returns an Error if no device has that label or UUID, unless a file with that name
// exists. Any other string is returned unchanged.
[[nodiscard]] Result<std::string> find_device(const std::string& text);

// Facts about a file or device before anything is written to it.
struct Storage {
  // Everything reads as zeros: the file does not exist yet, is empty, or is all holes. Always false
  // for a device, because it would have to be read.
  bool reads_as_zeros = false;
  // Zeros stay zeros until they are overwritten. That is true for a regular file, a loop device on
  // one, and a device that cannot discard. Any other device may return zeros for discarded blocks
  // now and something else later. No attribute of Linux's block devices promises that their zeros
  // last (queue/discard_zeroes_data has been 0 since 4.12).
  bool zeros_last = false;
};

[[nodiscard]] Storage look_at_storage(const std::string& path);

// Reads a block device's attribute in sysfs, such as "queue/discard_max_bytes"; for a partition,
// also looks at its disk. The text has no final newline.
[[nodiscard]] std::optional<std::string> device_attribute(dev_t device, const std::string& name);

}  // namespace e4r::lazyinit
