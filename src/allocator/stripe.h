// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

#include "ext4/geometry.h"

namespace e4r::allocator {

// How a search by stripe uses the stripe (s_stripe, ext4_mb_scan_aligned).
struct StripeRules {
  // True: the stripe is converted to clusters; one that is not a whole number of clusters is
  // ignored. False: the number of blocks is used as a number of clusters.
  bool in_clusters;
  std::uint32_t least;  // clusters; a shorter stripe is ignored
  // True: the search wants an aligned extent of the goal's whole length. False: one aligned stripe
  // is enough.
  bool whole_goal;
  // A group without such an extent is then searched for any extent.
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

// The stripe of `blocks` blocks in the unit of the rules; 0: no stripe.
[[nodiscard]] inline std::uint64_t stripe_of(const StripeRules& rules, const Geometry& geometry,
                                             std::uint64_t blocks) {
  if (!rules.in_clusters) return blocks;
  const std::uint64_t clusters = blocks >> geometry.cluster_bits;
  const bool whole = blocks > 1 && geometry.to_blocks(clusters) == blocks;
  return whole && clusters >= rules.least && clusters <= geometry.clusters_per_group ? clusters : 0;
}

// The distance in blocks between places aligned to a stripe of `clusters` clusters.
[[nodiscard]] inline std::uint64_t stripe_blocks(const StripeRules& rules, const Geometry& geometry,
                                                 std::uint64_t clusters) {
  return rules.in_clusters ? geometry.to_blocks(clusters) : clusters;
}

}  // namespace e4r::allocator
