// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>

#include "ext4/criterion.h"
#include "state/fs_state.h"

namespace e4r::allocator {

struct Search;
struct Rung;

// Why a rung passed a group over.
enum class Refusal : std::uint8_t {
  none,         // it is good
  corrupt,      // set aside
  full,         // no free cluster
  few_free,     // fewer free clusters than the rung needs
  not_loaded,   // its buddy is not loaded, and the rung does not load for a look
  flex_first,   // the first group of a flex group, kept for directories and metadata
  low_order,    // no free chunk of the goal's order
  low_average,  // the average free extent is shorter than the goal
};

// Is told the steps of one decision, in order, through Search::tell. Every member does nothing
// here; searches without an observer pay one comparison per step.
class SearchObserver {
 public:
  virtual ~SearchObserver() = default;
  // The goal's place was tried: `found` starts there, length 0 when the place is in use.
  virtual void tried_goal(const Search&, const Extent& /*found*/, bool /*taken*/) {}
  // A rung begins at `group`.
  virtual void rung(const Search&, const Rung&, std::uint32_t /*group*/) {}
  // A rung looked at a group (refusal() says what it made of it).
  virtual void looked(const Search&, const Rung&, const state::Group&) {}
  // A walk passed `count` groups from `group` on that have fewer than `least` free clusters.
  virtual void passed(std::uint32_t /*group*/, std::uint32_t /*count*/, std::uint32_t /*least*/) {}
  // The order lists, or one class of groups, were asked for a goal of `len` clusters; none: they
  // have no further group.
  virtual void asked_index(mb::Criterion, std::uint32_t /*len*/,
                           std::optional<std::uint32_t> /*group*/) {}
  // A free extent was examined; `best`: it is the best candidate now.
  virtual void measured(const Extent&, bool /*best*/) {}
  // The group has been searched; `found` extents have been examined so far.
  virtual void scanned(const state::Group&, std::uint32_t /*found*/) {}
  // Clusters were taken out of the buddy: while a group is scanned, or after tried_goal or
  // came_back.
  virtual void took(const Extent&) {}
  // The buddy of a group was made, and of those that share a page with it.
  virtual void loaded(std::uint32_t /*group*/) {}
  // The search ran into its limit and comes back to the group of its best candidate.
  virtual void came_back(const state::Group&) {}
  // A preallocation in this group is gone: it has nothing left, or its locality group had too many.
  virtual void dropped(std::uint32_t /*group*/) {}
  // Nothing was found; preallocations were given back, or not, and the search begins again.
  virtual void retried(bool /*discarded*/) {}
};

// Why the rung refuses the group, by its own rules.
[[nodiscard]] Refusal refusal(const Search& search, const Rung& rung, const state::Group& group);

}  // namespace e4r::allocator
