// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/counters.h"
#include "allocator/policy.h"
#include "replay/accounts.h"
#include "state/fs_state.h"
#include "state/group.h"
#include "util/status.h"

// The kernel's own figures about the allocator, from /proc/fs/ext4/DEV/mb_stats and mb_groups
// (Linux 6.1 to 7.3), and their comparison with a replay's state.
namespace e4r::stats {

// One counter of mb_stats. `name` is the kernel's name, after the name of its section if it has
// one: "reqs", "cr0_stats/hits", "2^n_hits".
struct MbStat {
  std::string name;
  std::uint64_t value = 0;
  bool later = false;      // only kernels later than the policy's print it
  std::uint64_t open = 0;  // by how much the kernel's count may exceed this value
};

// The counters of allocator::Counters, each of which may be unknown. A kernel prints only some of
// them, and a trace shows fewer.
struct KnownCounters {
  using Count = std::optional<std::uint64_t>;
  struct PerCriterion {
    Count hits, groups_considered, extents_scanned, useless_loops, bad_suggestions;
  };
  // Criterion::past_last has only hits, which the kernel's mb_stats does not print.
  std::array<PerCriterion, mb::kCriteria> by_criterion = {};
  Count requests, success, groups_scanned, extents_scanned, goal_hits, stream_goal_hits,
      len_goal_hits, order2_hits, breaks, lost, buddies_generated, preallocated, discarded;

  // The sum over the criteria for which it is known; empty if it is known for none.
  [[nodiscard]] Count groups_considered() const;
  // Copies the counters that are unknown here from `other`.
  void add_missing(const KnownCounters& other);
  // For each counter that is known on both sides, subtracts the value of `other`.
  void subtract(const KnownCounters& other);
  PerCriterion& operator[](mb::Criterion c) { return by_criterion[static_cast<std::size_t>(c)]; }
  const PerCriterion& operator[](mb::Criterion c) const {
    return by_criterion[static_cast<std::size_t>(c)];
  }
};

// Each of these returns the counters that are known from its arguments: the replay's own (all of
// them if allocator::Counters::complete); those that the policy's kernel prints, for the policy's
// rungs; those that a trace's closing events show; those in a text of mb_stats.
[[nodiscard]] KnownCounters known_counters(const allocator::Counters& counters);
[[nodiscard]] KnownCounters known_counters(const allocator::Policy& policy,
                                           const allocator::Counters& counters);
[[nodiscard]] KnownCounters known_counters(const allocator::Policy& policy,
                                           const replay::ClosingCounts& counts);
[[nodiscard]] KnownCounters known_counters(const std::vector<MbStat>& stats);

// The replay's counters under their names in mb_stats, in the kernel's order, for the policy's
// rungs. A criterion has the same name on all kernels, its name in 6.1 (cr0_stats, not
// cr_p2_aligned_stats). Counters that 6.1 does not print (extents scanned per criterion,
// len_goal_hits) are named as in later kernels.
[[nodiscard]] std::vector<MbStat> mb_stats(const allocator::Policy& policy,
                                           const allocator::Counters& counters);

// Parses the text of mb_stats with any indentation; sections get the names that mb_stats() uses.
// The value of "32/32" is the first number. The Error says that the text is not mb_stats, or has no
// counter that a kernel of any policy prints.
[[nodiscard]] Result<std::vector<MbStat>> parse_mb_stats(std::string_view text);

// Whether the text says that the kernel did not count.
[[nodiscard]] bool stats_were_off(std::string_view text);

struct MbStatsComparison {
  std::uint64_t compared = 0;
  std::vector<std::string> differing;     // "lost: kernel 2, replay 0"
  std::vector<std::string> open;          // "cr0_stats/hits: kernel 8, replay 7 to 9"
  std::vector<std::string> not_modelled;  // counters that the replay lacks
  std::vector<std::string> missing;  // counters that the policy's kernel prints but the text lacks
  // Counters whose value is certain and equal to the kernel's.
  [[nodiscard]] std::uint64_t equal_ones() const {
    return compared - differing.size() - open.size();
  }
  // True if something was compared, no counter is missing and no counter differs.
  [[nodiscard]] bool equal() const { return compared > 0 && missing.empty() && differing.empty(); }
};
[[nodiscard]] MbStatsComparison compare_mb_stats(const std::vector<MbStat>& kernel,
                                                 const std::vector<MbStat>& replay);

[[nodiscard]] Result<std::vector<state::MbGroup>> parse_mb_groups(std::string_view text);

struct MbGroupsComparison {
  std::uint64_t compared = 0;
  std::uint64_t differing = 0;  // including groups that the text lacks
  std::string first;            // a description of the first difference
  [[nodiscard]] bool equal() const { return compared > 0 && differing == 0; }
};
[[nodiscard]] MbGroupsComparison compare_mb_groups(const std::vector<state::MbGroup>& kernel,
                                                   const state::FsState& state);
// Describes how one line of the kernel differs from the group; empty if it does not.
[[nodiscard]] std::string describe_difference(const state::MbGroup& kernel,
                                              const state::Group& group);
// Compares with the mb_groups of a kernel that made the replay's decisions.
[[nodiscard]] MbGroupsComparison compare_mb_groups(const std::vector<state::MbGroup>& kernel,
                                                   const std::vector<state::MbGroup>& replay);

}  // namespace e4r::stats
