// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

namespace e4replay {

// The rung of the allocator's ladder that ended a search. The values have names because the
// kernels' numbers differ: 6.1 prints 0 to 3 for cr0, cr1, cr2 and cr3; 6.5 and later insert
// best_avail as 2. From 6.12.77 and 6.17 on, kernels print 5 (past_last) if the last rung walked
// through all groups and found too little (ext4_mb_scan_groups_linear). own_1 to own_4 stand for
// rungs that plugin policies name (<e4replay/plugin.h>); the assignment of names to values differs
// between processes. Add new values at the end: packed traces store these numbers.
enum class Criterion : std::uint8_t {
  cr0,
  cr1,
  cr1_5,
  best_avail,
  cr2,
  cr3,
  past_last,
  unknown,
  own_1,
  own_2,
  own_3,
  own_4,
};

}  // namespace e4replay
