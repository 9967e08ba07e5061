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

// How the groups of a class are asked for, and which of them.
struct GroupRules {
  // What the file system keeps with mb_optimize_scan=1, and rungs ask: lists in the order of
  // arrival (ext4_mb_choose_next_group, 6.1), or sets in ascending order
  // (ext4_mb_scan_groups, 6.12.117).
  state::GroupIndex index;
  // Groups that the inode may not use (files without extents, beyond 2^32 blocks) are passed over
  // on the lists too; 6.1 bounds the walk alone. Sets are always bounded.
  bool lists_bounded;
  // Files without extents are searched for by the index too; else they are walked for
  // (before 6.1.165 and 7.0).
  bool without_extents;
  // When a criterion has looked at as many groups as there are, the next criterion follows even if
  // it does not apply to the request (6.5 to 6.16).
  bool enters_after_round = false;
  // When a walk of all groups in the last criterion does not end the search, the kernel counts the
  // criterion up once more (ext4_mb_scan_groups_linear, 6.12.77 to 6.12.117 and 6.17 to 7.3). If
  // the search then takes the best extent it saw, its hit counts behind the end of s_bal_cX_hits,
  // which is s_bal_cX_failed[0].
  bool counts_past_last = false;
  // All criteria but the last pass over a group whose lock another CPU holds (6.17 to 7.3).
  bool tries_lock = false;
};

// What the kernel remembers of a goal that a criterion trims.
struct GoalRules {
  // True: the goal of a group preallocation is remembered. False: it becomes the length asked for
  // when the criterion finds nothing (ext4_mb_normalize_group_request leaves ac_orig_goal_len
  // alone, 6.5 to 7.3).
  bool of_groups;
  // The goal is restored also when the criterion has walked once round all groups (6.5 and 6.14).
  bool after_walks = false;
};

// What an extsize of a file means for requests for its blocks (align.h).
struct AlignRules {
  // They get blocks that are aligned, or none: EXT4_MB_FORCE_ALIGN.
  bool forced = false;
};

// Which counters the kernel prints in /proc/fs/ext4/DEV/mb_stats, and under which names.
enum class StatNames : unsigned char {
  v6_1,   // cr0_stats ... cr3_stats
  v6_5,   // cr_p2_aligned_stats ... cr_any_free_stats, extents_scanned for each, len_goal_hits
  v6_12,  // the same without bad_suggestions
  v6_17,  // the same and stream_goal_hits
};

// The behaviours that decide beside the ladder, and in which kernels differ. Each family of rules
// stands with the code that follows it. A kernel is a choice of one from each family.
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

// fs/ext4/mballoc.c of these versions.
extern const Kernel kLinux6_1;       // 6.1.167 to 6.1.192
extern const Kernel kLinux6_1Cr1_5;  // 6.1.192 with the series mballoc-cr1.5 of this project
// 6.6 to 6.13 (6.12 up to 6.12.76) place short finds as 6.5 or as 6.14 does. Which version does
// which is not known.
extern const Kernel kLinux6_5;           // 6.5
extern const Kernel kLinux6_14;          // 6.14 to 6.16
extern const Kernel kLinux6_12;          // 6.12.77 to 6.12.117
extern const Kernel kLinux7_3;           // 6.17 to 7.3
extern const Kernel kLinux7_3GroupGoal;  // 7.3.4 that remembers the goal of a group preallocation
// 6.17 to 7.3 whose searches begin elsewhere. There is no such kernel.
extern const Kernel kLinux7_3Rotalloc;  // as posted for 6.18.6; from reading
extern const Kernel kLinux7_3RotallocBehindGoal;
extern const Kernel kLinux7_3LowFirst;
extern const Kernel kLinux7_3ByCpu;
extern const Kernel kLinux7_3ByInode;
// 6.17 to 7.3 with forcealign (policies/forcealign.cc). There is no such kernel.
extern const Kernel kLinux7_3Forcealign;

}  // namespace e4r::allocator
