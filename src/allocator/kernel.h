// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <bit>
#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

#include "allocator/preallocations.h"
#include "allocator/request.h"
#include "allocator/search.h"
#include "allocator/stream_goals.h"
#include "allocator/tunables.h"
#include "ext4/criterion.h"
#include "ext4/geometry.h"
#include "state/fs_state.h"

namespace e4r::allocator {

struct Policy;

// A kernel release without its suffix: "6.18.44-foo" becomes 6.18.44, and "6.14" becomes 6.14.0.
struct Release {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::uint32_t patch = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): a false positive: the compiler generates a 0
  friend constexpr auto operator<=>(const Release&, const Release&) = default;
};
inline constexpr std::uint32_t kAnyPatch = UINT32_MAX;  // the last patch of a range without an end

// The releases from `first` to `last`, inclusive.
struct ReleaseRange {
  Release first;
  Release last;
};

// Parses the numbers at the start of a release. Returns nullopt unless it begins with MAJOR.MINOR.
[[nodiscard]] std::optional<Release> parse_release(std::string_view text);

// Whether a kernel was built for Lustre servers, such as "4.18.0-553.27.1.el8_lustre.x86_64".
[[nodiscard]] bool is_of_lustre(std::string_view release);

// Whether a kernel of that release may follow the policy. Policy::releases must contain the
// release. For a Red Hat build ("5.14.0-427.el9_4.x86_64"), Policy::builds must contain it. A
// distribution that hides the stable release ("5.15.0-139-generic") matches any patch level. False
// if the text is not a release, and for Lustre server builds.
[[nodiscard]] bool stands_for(const Policy& policy, std::string_view release);

// How a search for aligned stripes uses the stripe (s_stripe, ext4_mb_scan_aligned).
struct StripeRules {
  // True: the stripe is converted to clusters; one that is not a whole number of clusters is
  // ignored. False: the number of blocks is used as a number of clusters.
  bool in_clusters;
  std::uint32_t least;  // clusters; a shorter stripe is ignored
  // True: the search wants an aligned extent of the goal's whole length. False: one aligned stripe
  // is enough.
  bool whole_goal;
  // True: a group without such an extent is then searched for any extent.
  bool then_any;
};

inline constexpr StripeRules kStripe6_1 = {
    .in_clusters = false, .least = 0, .whole_goal = false, .then_any = false};
inline constexpr StripeRules kStripeCr1_5 = {
    .in_clusters = true, .least = 2, .whole_goal = true, .then_any = true};
inline constexpr StripeRules kStripe6_5 = {
    .in_clusters = true, .least = 1, .whole_goal = false, .then_any = false};
inline constexpr StripeRules kStripe6_8 = {
    .in_clusters = true, .least = 1, .whole_goal = false, .then_any = true};

// Converts a stripe of `blocks` blocks to the unit of the rules. Returns 0 if the stripe is
// ignored.
[[nodiscard]] inline std::uint64_t stripe_of(const StripeRules& rules, const Geometry& geometry,
                                             std::uint64_t blocks) {
  if (!rules.in_clusters) return blocks;
  const std::uint64_t clusters = blocks >> geometry.cluster_bits;
  const bool whole = blocks > 1 && geometry.to_blocks(clusters) == blocks;
  return whole && clusters >= rules.least && clusters <= geometry.clusters_per_group ? clusters : 0;
}

// The distance in blocks between positions aligned to a stripe of `clusters` clusters.
[[nodiscard]] inline std::uint64_t stripe_blocks(const StripeRules& rules, const Geometry& geometry,
                                                 std::uint64_t clusters) {
  return rules.in_clusters ? geometry.to_blocks(clusters) : clusters;
}

// The files whose searches use the index. Searches for other files walk from group to group.
enum class Indexed : std::uint8_t {
  every_file,       // from 5.15.202, 6.1.165, 6.6.128, 6.12.77 and 6.18.10 on
  with_extents,     // earlier releases
  without_extents,  // 5.13 to 5.15.32 and RHEL 9.0, where a condition was inverted
};

[[nodiscard]] constexpr bool is_indexed(Indexed files, bool has_extents) {
  return files == Indexed::every_file || (files == Indexed::with_extents) == has_extents;
}

// How the kernel finds groups, and which groups it may find.
struct GroupRules {
  // The index that the file system keeps with mb_optimize_scan=1 and that rungs consult: lists in
  // order of arrival (ext4_mb_choose_next_group, 6.1), or sets in ascending order
  // (ext4_mb_scan_groups, 6.12.117).
  state::GroupIndex index;
  // True: list searches also skip groups that the inode may not use (groups beyond block 2^32, for
  // files without extents). In 6.1, only the walk skips them. Set searches always skip them.
  bool lists_bounded;
  Indexed indexed;
  // True: a criterion walks exactly mb_max_linear_groups groups before it asks the index. So if
  // that number is 0, it may not look even at the goal's group (up to 5.15.70). False: it walks one
  // group more.
  bool asks_at_once = false;
  // True: after a criterion has looked at as many groups as exist, the search enters the next
  // criterion even if that criterion does not apply to the request (6.5 to 6.18.9).
  bool enters_after_round = false;
  // True: when a walk of all groups in the last criterion does not end the search, the kernel
  // increments the criterion once more (ext4_mb_scan_groups_linear, 6.12.77 to 6.12.117 and 6.17 to
  // 7.3). If the search then takes the best extent that it saw, the kernel counts the hit past the
  // end of s_bal_cX_hits, in s_bal_cX_failed[0].
  bool counts_past_last = false;
  // True: all criteria except the last skip a group whose lock another CPU holds (6.12.77 to
  // 6.12.117, and 6.17 to 7.3).
  bool tries_lock = false;
};

// How the kernel chooses, restores and tries goals.
struct GoalRules {
  // True: when the criterion that trims finds nothing, the trimmed goal of a group preallocation is
  // restored to its full length. False: it is reset to the requested length, since
  // ext4_mb_normalize_group_request does not set ac_orig_goal_len (6.5 to 7.3).
  bool of_groups;
  // True: the goal is also restored after that criterion has walked all groups once (6.5 and 6.14).
  bool after_walks = false;
  NeighbourGoal neighbour = NeighbourGoal::aimed_at;
  // True: a request with EXT4_MB_HINT_GOAL_ONLY tries its goal even without EXT4_MB_HINT_TRY_GOAL.
  // False: it gets nothing (all of 5.4, and the kernels with NeighbourGoal::lost). ext4 makes no
  // such requests.
  bool tries_goal_only = true;
};

// How a file's extsize affects requests for its blocks.
struct AlignRules {
  // True: requests for files with an extsize get only aligned blocks (EXT4_MB_FORCE_ALIGN).
  bool forced = false;
};

// The counters that the kernel prints in /proc/fs/ext4/DEV/mb_stats, and their names.
enum class StatNames : unsigned char {
  none,   // the kernel has no such file (up to 5.10.180)
  v6_1,   // cr0_stats ... cr3_stats
  v6_5,   // cr_p2_aligned_stats ... cr_any_free_stats, extents_scanned per criterion, len_goal_hits
  v6_12,  // v6_5 without bad_suggestions
  v6_17,  // v6_12 with stream_goal_hits
};

// The behaviours outside the ladder that affect decisions and differ between kernels. Each type of
// rules is defined next to the code that follows it.
struct Kernel {
  std::string_view name;  // the versions with this behaviour
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

// The kernels from which others are derived.

// 6.1.165 on
inline constexpr Kernel kLinux6_1 = {
    .name = "Linux 6.1.165 to 6.1.192",
    .groups = {.index = state::GroupIndex::lists,
               .lists_bounded = false,
               .indexed = Indexed::every_file},
    .read_ahead = kReadAhead6_1,
    .stripe = kStripe6_1,
    .stream = kOneStreamGoal,
    .start = kStartAtGoal,
    .preallocs = kPreallocs6_1,
    .remembers = {.of_groups = true},
    .stats = StatNames::v6_1,
};

// 6.9 to 6.16; in the stable series 6.12, up to 6.12.42
inline constexpr Kernel kLinux6_14 = {
    .name = "Linux 6.14 to 6.16",
    .groups = {.index = state::GroupIndex::lists_keep_full,
               .lists_bounded = true,
               .indexed = Indexed::with_extents,
               .enters_after_round = true},
    .read_ahead = kReadAhead6_8,
    .stripe = kStripe6_8,
    .stream = kOneStreamGoal,
    .start = kStartAtGoal,
    .preallocs = kPreallocs6_5,
    .remembers = {.of_groups = false, .after_walks = true},
    .stats = StatNames::v6_5,
};

// The behaviour that 6.17 to 7.3 share.
inline constexpr Kernel kSince6_17 = {
    .name = "Linux 6.17 to 7.3",
    .groups = {.index = state::GroupIndex::sets,
               .lists_bounded = true,
               .indexed = Indexed::every_file,
               .counts_past_last = true,
               .tries_lock = true},
    .read_ahead = kReadAhead6_8,
    .stripe = kStripe6_8,
    .stream = kStreamGoalsByInode,
    .start = kStartAtGoal,
    .preallocs = kPreallocs6_5,
    .remembers = {.of_groups = false},
    .stats = StatNames::v6_17,
    .freed = state::FreedMerging::parent,
};

// Each kernel here and above follows fs/ext4/mballoc.c of the versions named in its comment.
extern const Kernel kLinux6_1Cr1_5;      // 6.1.192 with this project's series mballoc-cr1.5
extern const Kernel kLinux6_5;           // 6.5
extern const Kernel kLinux6_12;          // 6.12.77 to 6.12.117
extern const Kernel kLinux7_3;           // 6.17 to 7.3
extern const Kernel kLinux7_3GroupGoal;  // 7.3.4 with the patch group-goal
// Variants of 6.17 to 7.3 that start searches elsewhere. No released kernel does this.
extern const Kernel kLinux7_3Rotalloc;  // modelled from the text of the posting for 6.18.6
extern const Kernel kLinux7_3RotallocBehindGoal;
extern const Kernel kLinux7_3LowFirst;
extern const Kernel kLinux7_3ByCpu;
extern const Kernel kLinux7_3ByInode;
// A variant of 6.17 to 7.3 with forcealign (policies/forcealign.cc). No released kernel has it.
extern const Kernel kLinux7_3Forcealign;

// Aligned allocation; policies/forcealign.cc describes it.

// The file's extsize in blocks; 0 if it has none.
[[nodiscard]] inline std::uint32_t extsize_of(const AlignRules& rules, const Tunables& tunables,
                                              std::uint64_t ino) {
  if (!rules.forced || tunables.extsize <= 1) return 0;
  if (tunables.extsize_every > 1 && ino % tunables.extsize_every != 0) return 0;
  return static_cast<std::uint32_t>(tunables.extsize);
}

// The alignment that the request needs, in clusters; 0: no alignment. Requests for metadata and
// requests with EXT4_MB_HINT_GOAL_ONLY are not aligned.
[[nodiscard]] inline std::uint32_t alignment_of(const AlignRules& rules, const Tunables& tunables,
                                                const Geometry& geometry, const Request& request) {
  if ((request.flags & mb::hint_data) == 0 || (request.flags & mb::hint_goal_only) != 0) return 0;
  const std::uint32_t clusters = extsize_of(rules, tunables, request.ino) >> geometry.cluster_bits;
  return clusters > 1 ? clusters : 0;
}

// The length in clusters of the shortest aligned extent that can hold the request.
[[nodiscard]] inline std::uint32_t aligned_len(const Search& search) {
  return std::max(std::bit_ceil(search.orig.len), search.extsize);
}

// Whether the request has the form that ext4_map_blocks gives it: the length is a power of two and
// at least extsize, and the file block is a multiple of extsize. A trace's requests need not have
// this form.
[[nodiscard]] inline bool is_aligned_request(const Search& search) {
  const std::uint64_t blocks = search.state.geometry().to_blocks(search.extsize);
  return search.orig.len == aligned_len(search) && search.orig.logical % blocks == 0;
}

// Whether the extent's first block on the device is a multiple of `len` clusters.
[[nodiscard]] inline bool starts_aligned(const Geometry& geometry, const Extent& extent,
                                         std::uint32_t len) {
  return geometry.block_of(extent.group, extent.start) % geometry.to_blocks(len) == 0;
}

}  // namespace e4r::allocator
