// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

// Checksums of the frames in .e4t and .e4c files (docs/trace-format.md, docs/capture-format.md).
namespace e4r::trace {

// The size of a frame's head. Its last four bytes are the checksum.
inline constexpr std::size_t kFrameBytes = 16;

// The checksum of a frame: over the first kFrameBytes - 4 bytes of `head`, then over `stored`, the
// payload as stored.
[[nodiscard]] std::uint32_t frame_sum(std::string_view head, std::string_view stored);
// Extends the checksum of all frames so far by one more frame's checksum. The first `chain` is 0.
[[nodiscard]] std::uint32_t extend_chain(std::uint32_t chain, std::uint32_t sum);

}  // namespace e4r::trace
