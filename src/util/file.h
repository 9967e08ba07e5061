// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/fd.h"
#include "util/output.h"
#include "util/status.h"

namespace e4r {

// Returns the content of a small file.
[[nodiscard]] Result<std::string> read_file(const std::string& path);

// The first line of an attribute in sysfs or procfs, without the newline. Empty if it cannot be
// read.
[[nodiscard]] std::string read_attribute(const std::string& path);

// Writes `text` as an output (util/output.h). The name "-" is standard output.
[[nodiscard]] Status write_output(const std::string& text, const OutputName& name);

// Whether the bytes are a truncated 64-bit ELF program or library: the file ends within its
// headers, or within a part that must be loaded. A program that maps such a file is killed by
// SIGBUS. Returns false for a 32-bit ELF file and for any other file.
[[nodiscard]] bool is_cut_elf(std::string_view bytes);

// The loop devices that are backed by the file, such as "loop0". Empty if no such device is visible
// to this process. The device itself reports its backing file (LOOP_GET_STATUS64: lo_device and
// lo_inode, the kernel's drivers/block/loop.c), so names in other mount namespaces do not matter.
// If the process may not open the device, the name in /sys/block/loopN/loop/backing_file is used.
[[nodiscard]] std::vector<std::string> loop_devices_of(const FileId& file);

// The backing file of the loop device with this node ("/dev/loop0"). Empty if it has none or the
// node may not be opened.
[[nodiscard]] std::optional<FileId> loop_shows(const std::string& node);

// The other loop devices with the same backing file as the loop device `device`. Empty if `device`
// is not a loop device.
[[nodiscard]] std::vector<std::string> loop_devices_beside(const FileId& device);

}  // namespace e4r
