// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

namespace e4r::mb {

// Allocation request flags as the kernel numbers them (EXT4_MB_*, fs/ext4/ext4.h, 6.1). The trace
// prints names; later kernels use the same names.
inline constexpr std::uint32_t hint_merge = 0x0001;
inline constexpr std::uint32_t hint_reserved = 0x0002;
inline constexpr std::uint32_t hint_metadata = 0x0004;
inline constexpr std::uint32_t hint_first = 0x0008;
inline constexpr std::uint32_t hint_best = 0x0010;
inline constexpr std::uint32_t hint_data = 0x0020;
inline constexpr std::uint32_t hint_noprealloc = 0x0040;
inline constexpr std::uint32_t hint_group_alloc = 0x0080;
inline constexpr std::uint32_t hint_goal_only = 0x0100;
inline constexpr std::uint32_t hint_try_goal = 0x0200;
inline constexpr std::uint32_t delalloc_reserved = 0x0400;
inline constexpr std::uint32_t stream_alloc = 0x0800;
inline constexpr std::uint32_t use_root_blocks = 0x1000;
inline constexpr std::uint32_t use_reserved = 0x2000;
inline constexpr std::uint32_t strict_check = 0x4000;
// A closing event has 16 bits each for extents found, groups scanned, flags and the tail.
inline constexpr std::uint32_t recorded_bits = 0xffff;
// Set by the search itself. The closing event stores 16 bits, so cr0_optimized shows as "0x8000"
// and the others do not show.
inline constexpr std::uint32_t cr0_optimized = 0x8000;
inline constexpr std::uint32_t cr1_optimized = 0x10000;
inline constexpr std::uint32_t cr1_5_optimized = 0x20000;       // the CR1.5 series
inline constexpr std::uint32_t best_avail_optimized = 0x20000;  // 6.5 to 6.16

}  // namespace e4r::mb
