// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/container/static_vector.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "allocator/kernel.h"
#include "allocator/search.h"

namespace e4r::allocator {

// How a rung searches a group's free space.
enum class Scan : std::uint8_t {
  chunks,  // the first free buddy chunk of at least the goal's order
  // every free extent in turn; if `striped` and the goal is a multiple of the stripe, aligned
  // stripes
  extents,
};

// Which free extents a scan examines. An extent is made of adjacent buddy chunks, just enough to
// cover the goal, so a long free run holds several extents.
enum class Lengths : std::uint8_t {
  all,
  // extents in runs no shorter than the goal; the remainder of a run counts as a run
  long_ones,
  long_runs,  // only the first extent of each such run
};

// A class of groups that a rung searches together: their largest free chunk, or their average free
// extent, has the same order.
struct GroupClass {
  enum class By : std::uint8_t { largest, average };
  By by;
  std::uint32_t order;
  // Clusters. The goal is trimmed to this length while the class is searched; 0: not trimmed.
  std::uint32_t goal_len = 0;
};
// Up to two more classes than orders, since a goal may be two orders longer than the longest chunk.
using GroupClasses = boost::container::static_vector<GroupClass, state::kMaxOrders + 2>;

// One criterion of a ladder. It chooses the next group, decides whether the group is good enough
// and how to search it, and defines what happens when no group is left. All functions are pure
// except `choose` and `leave`, which may change the search's goal and flags.
struct Rung {
  mb::Criterion criterion = mb::Criterion::unknown;
  std::string_view meaning;  // one human-readable line
  // A fast rung skips groups whose buddy is not loaded, except the first group of a flex group and
  // uninitialised groups. It limits read-ahead to mb_prefetch_limit bitmaps.
  bool fast = false;
  Scan scan = Scan::extents;
  bool striped = false;  // may search for aligned stripes
  Lengths lengths = Lengths::all;
  // Whether this search tries the rung at all.
  bool (*applies)(const Search&);
  // A group with fewer free clusters is rejected without further checks.
  std::uint32_t (*least_free)(const Search&);
  // Whether a loaded group is good enough.
  bool (*good)(const Search&, const state::Group&);
  // The tunable that only this rung reads; null: no tunable.
  std::uint64_t Tunables::*tunable = nullptr;
  // Returns the next group from the order lists, or nullopt when the rung is done. If null, the
  // rung walks from group to group instead.
  std::optional<std::uint32_t> (*choose)(Search&) = nullptr;
  // Returns the classes to search, in order, on kernels that keep sets instead of lists. All
  // classes are searched from the goal's group to the last group, then from the first group on. If
  // null, the rung walks from group to group on such kernels.
  GroupClasses (*classes)(const Search&) = nullptr;
  // Called when the rung found nothing by lists or by classes. May be null.
  void (*leave)(Search&) = nullptr;
};

// A ladder of rungs, combined with the other rules of a kernel. Each policy is defined in policies/
// and has a row in policy.cc.
struct Policy {
  std::string_view name;
  std::string_view alias = {};  // a second name, if any
  std::string_view summary;     // one line
  std::string_view source;      // where its behaviour is defined
  std::span<const Rung> ladder;
  const Kernel& kernel;
  // One line that names a recorded kernel and says how many of its decisions the policy was
  // compared with; empty if no kernel has these rules.
  std::string_view verified = {};
  // The kernel whose own mballoc.c was executed for a comparison (docs/your-kernel.md), in one
  // line; may be empty.
  std::string_view code = {};
  [[nodiscard]] std::string_view compared_with() const {
    return verified.empty() ? code : verified;
  }
  // The releases that it models; empty if no release has these rules.
  std::span<const ReleaseRange> releases = {};
  // The vendor builds that it models, named by the suffix of the release: "el9_4" for
  // 5.14.0-427.el9_4.
  std::span<const std::string_view> builds = {};
  // The kernel generation whose traces it may follow, in the form that trace::parse_generation
  // reads; empty: it follows no trace.
  std::string_view traces = {};
  bool long_term = false;  // models a long-term kernel: a reference for comparisons
  bool walk_only = false;  // never uses the order lists, as with mb_optimize_scan=0
  // Whether a data request may fail although there is free space that other requests could get.
  bool may_refuse = false;
  // The tunables that a policy from a file adds (add_own_tunable()).
  std::span<std::uint64_t Tunables::*const> own_tunables = {};
};

// Whether the rung skips a group whose lock another CPU holds (GroupRules::tries_lock).
[[nodiscard]] inline bool tries_lock(const Policy& policy, const Rung& rung) {
  return policy.kernel.groups.tries_lock && &rung != &policy.ladder.back();
}

// The index that the file system must keep for the policy with these tunables.
[[nodiscard]] state::GroupIndex group_index(const Policy& policy, const Tunables& tunables);

// Whether the tunable can affect the policy's decisions (TunableInfo::read_by). It cannot if it
// only affects a rung, lists or stream goals that the policy does not have.
[[nodiscard]] bool has_tunable(const Policy& policy, const TunableInfo& tunable);

// The policy's alias and the builds that it models, without its name.
[[nodiscard]] std::vector<std::string_view> other_names(const Policy& policy);

// All policies. Policies that model kernels are in the order in which the kernels adopted their
// rules. find_policy() takes a policy's name or one of other_names(), and returns null for an
// unknown name.
[[nodiscard]] std::span<const Policy* const> policies();
[[nodiscard]] const Policy* find_policy(std::string_view name);

}  // namespace e4r::allocator
