// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/container/static_vector.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "allocator/kernel.h"
#include "allocator/release.h"
#include "allocator/search.h"

namespace e4r::allocator {

// How a rung looks at a group's free space.
enum class Scan : std::uint8_t {
  chunks,   // the first free buddy chunk of at least the goal's order
  extents,  // every free extent in turn; by stripe when the goal is a multiple of one (`striped`)
};

// Which extents a scan examines. An extent is as many buddy chunks as cover the goal, so a long run
// of free clusters is several.
enum class Lengths : std::uint8_t {
  all,
  long_ones,  // runs shorter than the goal are stepped over, and so is what is left of a run
              // that has become shorter
  long_runs,  // the same, and of a run the start alone is examined
};

// Groups that a rung asks for together: those whose largest free chunk, or whose average free
// extent, is of one order.
struct GroupClass {
  enum class By : std::uint8_t { largest, average };
  By by;
  std::uint32_t order;
  std::uint32_t goal_len =
      0;  // clusters that the goal is trimmed to while they are searched; 0: none
};
// A goal may be two orders longer than the longest chunk.
using GroupClasses = boost::container::static_vector<GroupClass, state::kMaxOrders + 2>;

// One criterion of a ladder: which group next, whether it is good enough, how to search it, what
// to do when there is none. Functions are pure but for `choose` and `leave`, which may change the
// search's goal and flags.
struct Rung {
  mb::Criterion criterion = mb::Criterion::unknown;
  std::string_view meaning;  // one line for people
  // Below this rung nothing is worth reading a bitmap for: groups whose buddy is not loaded are
  // passed over (but for a flex group's first one and uninitialised ones), read-ahead is bounded.
  bool fast = false;
  Scan scan = Scan::extents;
  bool striped = false;  // may search by stripe
  Lengths lengths = Lengths::all;
  // Whether the rung is tried at all for this search.
  bool (*applies)(const Search&);
  // A group with fewer free clusters is refused before anything else is looked at.
  std::uint32_t (*least_free)(const Search&);
  // Whether a loaded group will do.
  bool (*good)(const Search&, const state::Group&);
  // The tunable that is this rung's alone; null: none.
  std::uint64_t Tunables::*tunable = nullptr;
  // The next group from the order lists, or none: the rung is done.
  std::optional<std::uint32_t> (*choose)(Search&) = nullptr;
  // On kernels that keep sets of groups instead of lists: the classes to search, in this order,
  // from the goal's group to the last one, and then from the first on.
  GroupClasses (*classes)(const Search&) = nullptr;
  // The rung found nothing, by lists or by classes. May be null.
  void (*leave)(Search&) = nullptr;
};
// A rung with neither `choose` nor `classes` walks from group to group.

// A policy is a ladder of rungs on a kernel. One file in policies/, one row of the registry each.
struct Policy {
  std::string_view name;
  std::string_view alias = {};  // another name for it, if any
  std::string_view summary;     // one line
  std::string_view source;      // where its behaviour is defined
  std::span<const Rung> ladder;
  const Kernel& kernel;
  // What its decisions were held against, one line; empty: no kernel decides like this.
  std::string_view verified = {};
  // Whose own mballoc.c it was held against (docs/your-kernel.md), one line; empty: nobody's.
  std::string_view code = {};
  // The releases that it stands for; empty when there is no such kernel.
  std::span<const ReleaseRange> releases = {};
  // Whose traces it may be asked to follow: those of kernels that print these words
  // (trace::parse_generation); empty: nobody's.
  std::string_view traces = {};
  bool long_term = false;  // of a long-term kernel: what others are compared with
  bool walk_only = false;  // as if mb_optimize_scan=0
  // It refuses requests for data although there is space that other requests would get.
  bool may_refuse = false;
  // Of a policy from a file: the tunables that it brings (add_own_tunable()).
  std::span<std::uint64_t Tunables::*const> own_tunables = {};
};

// Whether the rung leaves a group whose lock another CPU holds (GroupRules::tries_lock).
[[nodiscard]] inline bool tries_lock(const Policy& policy, const Rung& rung) {
  return policy.kernel.groups.tries_lock && &rung != &policy.ladder.back();
}

// What the file system must keep for the policy to search with these tunables.
[[nodiscard]] state::GroupIndex group_index(const Policy& policy, const Tunables& tunables);

// Whether the tunable can change the policy's decisions (TunableInfo::read_by). A tunable of a
// rung, a list or stream goals that the policy does not have cannot.
[[nodiscard]] bool has_tunable(const Policy& policy, const TunableInfo& tunable);

// All policies, those of kernels in the order in which kernels came to their rules; and the one of
// a given name or alias (null when there is none).
[[nodiscard]] std::span<const Policy* const> policies();
[[nodiscard]] const Policy* find_policy(std::string_view name);

}  // namespace e4r::allocator
