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

// The whole of a small file.
[[nodiscard]] Result<std::string> read_file(const std::string& path);

// The first line of an attribute in sysfs or procfs, without its newline. Empty if it cannot be
// read.
[[nodiscard]] std::string read_attribute(const std::string& path);

// Writes `text` as an output (util/output.h). The name "-" is standard output.
[[nodiscard]] Status write_output(const std::string& text, const OutputName& name);

// Whether a 64-bit program or library has been cut short: the file is shorter than the part to
// load, or even than its headers. A program that maps such a file ends with SIGBUS. What is not an
// ELF file, or a 32-bit one, is not cut.
[[nodiscard]] bool is_cut_elf(std::string_view bytes);

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
