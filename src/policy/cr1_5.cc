// SPDX-License-Identifier: GPL-2.0-or-later
// The ladder of the January 2023 posting "multiblock allocator improvements": before CR2 reads
// through groups that hold enough clusters in pieces, CR1.5 asks the average-fragment lists for the
// longest goal, up to mb_cr1_5_max_trim_order orders shorter, that some group can serve whole.
#include <array>

#include "policy/builtin.h"
#include "policy/rungs.h"

namespace e4r::policy {
namespace {

bool has_lists(const Search& search) {
  return search.state.order_lists();
}

// Smallest n with 2^n >= len.
int order_covering(std::uint32_t len) {
  return len <= 1 ? 0 : state::fls(len - 1);
}

// Lowest order that a trimmed goal may have: within the limit, not below the request, and no
// shorter than a stripe.
int lowest_order(const Search& search, int highest, std::uint32_t stripe) {
  const auto trim = static_cast<int>(search.tunables.mb_cr1_5_max_trim_order);
  const int lowest = std::max(highest - trim, order_covering(search.orig.len));
  return std::max(lowest, stripe > 0 ? order_covering(stripe) : 0);
}

void restore_goal(Search& search) {
  search.goal.len = search.goal_len;
}

std::optional<std::uint32_t> choose_cr1_5(Search& search) {
  const state::Geometry& geometry = search.state.geometry();
  const auto stripe = static_cast<std::uint32_t>(geometry.to_clusters(search.tunables.mb_stripe));
  const int highest = state::fls(search.goal_len) - 1;
  const int lowest = std::max(lowest_order(search, highest, stripe), 0);
  for (int order = highest; order >= lowest; --order) {
    std::uint32_t len = 1u << order;
    if (stripe > 0) len = (len + stripe - 1) / stripe * stripe;
    if (len >= search.goal_len) continue;  // CR1 has looked for that
    search.goal.len = len;
    const std::uint32_t list = state::average_list(geometry.orders(), len);
    if (const auto group = find_in_average_list(search, list, trace::Criterion::cr1_5))
      return group;
  }
  restore_goal(search);
  return std::nullopt;
}

constexpr Rung cr1_without_short() {
  Rung rung = cr1();
  rung.skip_short = true;
  return rung;
}

constexpr Rung cr1_5() {
  return {trace::Criterion::cr1_5,
          "the longest goal, trimmed, that a group's average free extent covers",
          true,
          Scan::extents,
          true,
          true,
          has_lists,
          goal_clusters,
          good_average,
          choose_cr1_5,
          restore_goal};
}

constexpr std::array kLadder = {cr0(), cr1_without_short(), cr1_5(), cr2(), cr3()};

}  // namespace

const Policy kCr15 = {
    "cr1.5",
    "CR1.5 between CR1 and CR2: trims the goal to what a group can serve whole",
    "ext4 list, January 2023: \"multiblock allocator improvements\"",
    kLadder,
    trace::Generation::cr1_5,
    false,
    true,
    true,
};

}  // namespace e4r::policy
