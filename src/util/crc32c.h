// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace e4r {

// CRC-32C (Castagnoli) as ext4 uses it: no inversion at either end, so calls can be chained. Uses
// the CPU's instruction where there is one.
[[nodiscard]] std::uint32_t crc32c(std::uint32_t seed, std::span<const std::byte> data);

// The same, computed by table instead of that instruction.
[[nodiscard]] std::uint32_t crc32c_by_table(std::uint32_t seed, std::span<const std::byte> data);

}  // namespace e4r
