// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string_view>

#include "allocator/preallocations.h"
#include "allocator/read_ahead.h"
#include "allocator/search_start.h"
#include "allocator/stream_goals.h"
#include "allocator/stripe.h"
#include "state/fs_state.h"

namespace e4r::allocator {

// How the kernel finds groups of a class, and which groups it may find.
struct GroupRules {
  // The index that the file system keeps with mb_optimize_scan=1 and that rungs ask: lists in order
  // of arrival (ext4_mb_choose_next_group, 6.1), or sets in ascending order (ext4_mb_scan_groups,
  // 6.12.117).
  state::GroupIndex index;
  // List searches also skip the groups that the inode may not use (those beyond 2^32 blocks, for
  // files without extents). 6.1 bounds only the walk. Set searches always skip them.
  bool lists_bounded;
  // The index also serves files without extents. Otherwise the search for them walks the groups
  // (before 6.1.165 and 7.0).
  bool without_extents;
  // When a criterion has looked at as many groups as there are, the search enters the next
  // criterion even if it does not apply to the request (6.5 to 6.16).
  bool enters_after_round = false;
  // When a walk of all groups in the last criterion does not end the search, the kernel increments
  // the criterion once more (ext4_mb_scan_groups_linear, 6.12.77 to 6.12.117 and 6.17 to 7.3). If
  // the search then takes the best extent it saw, the hit is counted past the end of s_bal_cX_hits,
  // in s_bal_cX_failed[0].
  bool counts_past_last = false;
  // All criteria except the last skip a group whose lock another CPU holds (6.17 to 7.3).
  bool tries_lock = false;
};

// What the kernel remembers about a goal that a criterion trims.
struct GoalRules {
  // True: the goal of a group preallocation is remembered. False: it is reset to the requested
  // length when the criterion finds nothing, since ext4_mb_normalize_group_request leaves
  // ac_orig_goal_len alone (6.5 to 7.3).
  bool of_groups;
  // The goal is also restored after the criterion has walked once round all groups (6.5 and 6.14).
  bool after_walks = false;
};

// The effect of a file's extsize on requests for its blocks (align.h).
struct AlignRules {
  // Such requests get only aligned blocks (EXT4_MB_FORCE_ALIGN).
  bool forced = false;
};

// The counters that the kernel prints in /proc/fs/ext4/DEV/mb_stats, and their names.
enum class StatNames : unsigned char {
  v6_1,   // cr0_stats ... cr3_stats
  v6_5,   // cr_p2_aligned_stats ... cr_any_free_stats, extents_scanned per criterion, len_goal_hits
  v6_12,  // v6_5 without bad_suggestions
  v6_17,  // v6_12 with stream_goal_hits
};

// The behaviours outside the ladder that affect decisions and differ between kernels. Each family
// of rules is defined next to the code that follows it. A kernel picks one member of each family.
struct Kernel {
  std::string_view name;  // the versions that behave like this
  GroupRules groups;
  ReadAheadRules read_ahead;
  StripeRules stripe;
  StreamRules stream;
  StartRules start;
  PreallocRules preallocs;
  GoalRules remembers;
  StatNames stats;
  state::FreedMerging freed = state::FreedMerging::neighbours;
  AlignRules align = {};
};

// Each follows fs/ext4/mballoc.c of the versions behind it.
extern const Kernel kLinux6_1;       // 6.1.167 to 6.1.192
extern const Kernel kLinux6_1Cr1_5;  // 6.1.192 with this project's series mballoc-cr1.5
// Versions 6.6 to 6.13 (6.12 up to 6.12.76) place short finds either as 6.5 or as 6.14. Which
// version does which is unknown.
extern const Kernel kLinux6_5;           // 6.5
extern const Kernel kLinux6_14;          // 6.14 to 6.16
extern const Kernel kLinux6_12;          // 6.12.77 to 6.12.117
extern const Kernel kLinux7_3;           // 6.17 to 7.3
extern const Kernel kLinux7_3GroupGoal;  // 7.3.4 with the patch group-goal
// Variants of 6.17 to 7.3 that start searches elsewhere. No released kernel does.
extern const Kernel kLinux7_3Rotalloc;  // from reading the posting for 6.18.6
extern const Kernel kLinux7_3RotallocBehindGoal;
extern const Kernel kLinux7_3LowFirst;
extern const Kernel kLinux7_3ByCpu;
extern const Kernel kLinux7_3ByInode;
// A variant of 6.17 to 7.3 with forcealign (policies/forcealign.cc). No released kernel has it.
extern const Kernel kLinux7_3Forcealign;

}  // namespace e4r::allocator
