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
  // every free extent in turn; aligned stripes when the goal is a multiple of the stripe
  // (`striped`)
  extents,
};

// Which free extents a scan examines. An extent consists of as many buddy chunks as cover the goal,
// so a long free run holds several extents.
enum class Lengths : std::uint8_t {
  all,
  // those in runs no shorter than the goal; the rest of a run counts as a run
  long_ones,
  long_runs,  // only the first extent of each such run
};

// Groups that a rung asks for together: their largest free chunk, or their average free extent, has
// the same order.
struct GroupClass {
  enum class By : std::uint8_t { largest, average };
  By by;
  std::uint32_t order;
  // Clusters. The goal is trimmed to this while the groups are searched; 0: not trimmed.
  std::uint32_t goal_len = 0;
};
// A goal may be two orders longer than the longest chunk.
using GroupClasses = boost::container::static_vector<GroupClass, state::kMaxOrders + 2>;

// One criterion of a ladder. It says which group is next, whether the group is good enough, how to
// search it, and what to do when none is left. All functions are pure except `choose` and `leave`,
// which may change the search's goal and flags.
struct Rung {
  mb::Criterion criterion = mb::Criterion::unknown;
  std::string_view meaning;  // one line for people
  // A fast rung skips groups whose buddy is not loaded, except the first group of a flex group and
  // uninitialised groups. It limits read-ahead to mb_prefetch_limit bitmaps.
  bool fast = false;
  Scan scan = Scan::extents;
  bool striped = false;  // may search by stripe
  Lengths lengths = Lengths::all;
  // Whether the rung is tried at all for this search.
  bool (*applies)(const Search&);
  // A group with fewer free clusters is refused without a further look.
  std::uint32_t (*least_free)(const Search&);
  // Whether a loaded group is good enough.
  bool (*good)(const Search&, const state::Group&);
  // The tunable that only this rung reads; null: no tunable.
  std::uint64_t Tunables::*tunable = nullptr;
  // The next group from the order lists; nullopt when the rung is done. Null: the rung walks from
  // group to group instead.
  std::optional<std::uint32_t> (*choose)(Search&) = nullptr;
  // The classes to search, in order, on kernels that keep sets instead of lists: from the goal's
  // group to the last group, then from the first group on. Null: the rung walks on such kernels.
  GroupClasses (*classes)(const Search&) = nullptr;
  // Called when the rung found nothing by lists or by classes. May be null.
  void (*leave)(Search&) = nullptr;
};

// A ladder of rungs on a kernel. Each policy is defined in policies/ and has a row in policy.cc.
struct Policy {
  std::string_view name;
  std::string_view alias = {};  // a second name, if any
  std::string_view summary;     // one line
  std::string_view source;      // where its behaviour is defined
  std::span<const Rung> ladder;
  const Kernel& kernel;
  // What its decisions were compared with, in one line; empty when no kernel decides like this.
  std::string_view verified = {};
  // Which kernel's own mballoc.c, run as code, it was compared with (docs/your-kernel.md), in one
  // line; may be empty.
  std::string_view code = {};
  [[nodiscard]] std::string_view compared_with() const {
    return verified.empty() ? code : verified;
  }
  // The releases that it models; empty when no release behaves like this.
  std::span<const ReleaseRange> releases = {};
  // The builds of vendors that it models, as the release ends: "el9_4" for 5.14.0-427.el9_4.
  std::span<const std::string_view> builds = {};
  // The kind of kernel whose traces it may follow, as trace::parse_generation reads it; empty: it
  // follows no trace.
  std::string_view traces = {};
  bool long_term = false;  // models a long-term kernel: a reference for comparisons
  bool walk_only = false;  // never uses the order lists, as with mb_optimize_scan=0
  // It may refuse a request for data although there is space that other requests would get.
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
// belongs to a rung, to lists or to stream goals that the policy lacks.
[[nodiscard]] bool has_tunable(const Policy& policy, const TunableInfo& tunable);

// The policy's alias and the builds that it models, without its name.
[[nodiscard]] std::vector<std::string_view> other_names(const Policy& policy);

// All policies; policies of kernels are in the order in which kernels adopted their rules.
// find_policy takes a name or another name of a policy, and returns null for an unknown one.
[[nodiscard]] std::span<const Policy* const> policies();
[[nodiscard]] const Policy* find_policy(std::string_view name);

}  // namespace e4r::allocator
