// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>

namespace e4r::record {

enum class Stored : std::uint8_t { elsewhere, there, unknown };

// Tells whether data written into the directory ends up on the device. It does if the directory's
// file system is on the device itself, on a loop device backed by a file there, on an overlay with
// its upper directory there, or on a device built from such devices (dm, md, partitions). Unknown
// if an overlay's upper directory is not visible from here.
[[nodiscard]] Stored stored_on(const std::string& directory, std::uint32_t dev);

}  // namespace e4r::record
