// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>

namespace e4r::record {

enum class Stored : std::uint8_t { elsewhere, there, unknown };

// Whether what is written into that directory ends up on the device: because its file system is the
// device's, or a loop device on a file there, or an overlay with its upper directory there, or on
// what is made of such devices (dm, md, partitions). Unknown: an overlay's upper directory is not
// to be seen from here.
[[nodiscard]] Stored stored_on(const std::string& directory, std::uint32_t dev);

}  // namespace e4r::record
