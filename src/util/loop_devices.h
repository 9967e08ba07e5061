// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "util/file_id.h"

namespace e4r {

// The loop devices that show the file, such as "loop0" (empty: no device that can be seen from
// here). The device itself says which file it shows (LOOP_GET_STATUS64: lo_device and lo_inode, the
// kernel's drivers/block/loop.c), so the names that another mount namespace has do not matter. A
// caller that may not open the device uses the name in /sys/block/loopN/loop/backing_file.
[[nodiscard]] std::vector<std::string> loop_devices_of(const FileId& file);

// The file that a loop device shows, by the device's node ("/dev/loop0"). Nothing: it shows no
// file, or the node may not be opened.
[[nodiscard]] std::optional<FileId> loop_shows(const std::string& node);

// Other loop devices on the file that the loop device `device` shows. Empty for any other device.
[[nodiscard]] std::vector<std::string> loop_devices_beside(const FileId& device);

}  // namespace e4r
