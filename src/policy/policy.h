// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "policy/search.h"

namespace e4r::policy {

// How a rung looks at a group's free space.
enum class Scan : std::uint8_t {
  chunks,   // the first free buddy chunk of at least the goal's order
  extents,  // every free extent in turn; by stripe when the goal is a multiple of one (`striped`)
};

// One criterion of a ladder: which group next, whether it is good enough, how to search it, what
// to do when there is none. Functions are pure but for `choose` and `leave`, which may change the
// search's goal and flags.
struct Rung {
  trace::Criterion criterion;
  std::string_view meaning;  // one line for people
  // Below this rung nothing is worth reading a bitmap for: groups whose buddy is not loaded are
  // passed over (but for a flex group's first one and uninitialised ones), read-ahead is bounded.
  bool fast;
  Scan scan;
  bool striped;  // may search by stripe
  // Extents shorter than the goal are stepped over without being examined, longer ones are examined
  // once, at their start, whatever the buddy's part of them.
  bool skip_short;
  // Whether the rung is tried at all for this search.
  bool (*applies)(const Search&);
  // A group with fewer free clusters is refused before anything else is looked at.
  std::uint32_t (*least_free)(const Search&);
  // Whether a loaded group will do.
  bool (*good)(const Search&, const state::Group&);
  // The next group from the order lists, or none: the rung is done. Null: the rung walks.
  std::optional<std::uint32_t> (*choose)(Search&);
  // The rung found nothing. May be null.
  void (*leave)(Search&);
};

// A policy is a ladder of rungs and what goes with it. One file, one row of the registry each.
struct Policy {
  std::string_view name;
  std::string_view summary;  // one line
  std::string_view source;   // where its behaviour is defined
  std::span<const Rung> ladder;
  trace::Generation generation;  // the kernel that decides like this; unknown when none does
  bool walk_only;                // as if mb_optimize_scan=0
  // Read-ahead also initialises BLOCK_UNINIT groups (no I/O is needed), judges each group by its
  // own descriptor, and generates the buddy of every group of every batch, read or not: when the
  // search comes to the next batch, or ends. Groups on a page with a corrupt one are left out.
  bool full_prefetch;
  // The scan by stripe wants an aligned extent of the whole goal, and a group without one is then
  // searched for any extent. Stripes count in clusters. Otherwise one stripe is enough, nothing
  // else is looked at, and a stripe is as many clusters as it has blocks.
  bool whole_stripes;
  // Groups that the inode may not use are passed over on the order lists too.
  bool lists_bounded;
};

// All policies, and the one of a given name (null when there is none).
[[nodiscard]] std::span<const Policy* const> policies();
[[nodiscard]] const Policy* find_policy(std::string_view name);

}  // namespace e4r::policy
