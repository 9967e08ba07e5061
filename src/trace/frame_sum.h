// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

// The checksums of the frames that .e4t and .e4c files are made of (docs/trace-format.md,
// docs/capture-format.md).
namespace e4r::trace {

// A frame's head: what it says of itself, and in the last four bytes its checksum.
inline constexpr std::size_t kFrameBytes = 16;

// Of a head of kFrameBytes without its last four, and of what it stands before.
[[nodiscard]] std::uint32_t frame_sum(std::string_view head, std::string_view stored);
// The checksum of all frames so far, and one more. It begins at 0.
[[nodiscard]] std::uint32_t extend_chain(std::uint32_t chain, std::uint32_t sum);

}  // namespace e4r::trace
