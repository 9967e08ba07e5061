// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace e4r {

// CRC-32C (Castagnoli) as ext4 uses it: no inversion at either end, so calls can be chained. Uses
// the CPU's instruction where there is one.
[[nodiscard]] std::uint32_t crc32c(std::uint32_t seed, std::span<const std::byte> data);

// The same, computed by table instead of that instruction.
[[nodiscard]] std::uint32_t crc32c_by_table(std::uint32_t seed, std::span<const std::byte> data);

// CRC-32C in the usual form: all bits set at the start, the result inverted. `before` is the
// checksum of the bytes that precede these.
[[nodiscard]] std::uint32_t checksum(std::string_view bytes, std::uint32_t before = 0);

}  // namespace e4r
