// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string_view>

// The terms of ext4's multiblock allocator that its traces and its model share.
namespace e4r::mb {

// The rung of the allocator's ladder that satisfied a search, by name, since its number depends
// on the kernel: 6.1 prints 0-3 for cr0, cr1, cr2, cr3; 6.5 and later insert best_avail as 2.
// past_last is the number after the last rung: kernels from 6.12.77 and 6.17 on count on to it when
// a walk of all groups in the last one found too little (ext4_mb_scan_groups_linear), and print it
// as 5. Packed traces store these numbers. In older files 6 is a criterion that their writer did
// not know: of the kernels up to 7.3 only that one.
enum class Criterion : std::uint8_t { cr0, cr1, cr1_5, best_avail, cr2, cr3, past_last, unknown };
[[nodiscard]] std::string_view criterion_name(Criterion criterion);

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
// A closing event has 16 bits for extents found, groups scanned, flags and what was left to take.
inline constexpr std::uint32_t recorded_bits = 0xffff;
// Set by the search itself. The closing event stores 16 bits, so cr0_optimized shows as "0x8000"
// and the others are not seen.
inline constexpr std::uint32_t cr0_optimized = 0x8000;
inline constexpr std::uint32_t cr1_optimized = 0x10000;
inline constexpr std::uint32_t cr1_5_optimized = 0x20000;       // the CR1.5 series
inline constexpr std::uint32_t best_avail_optimized = 0x20000;  // 6.5 to 6.16

}  // namespace e4r::mb
