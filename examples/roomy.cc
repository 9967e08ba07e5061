// SPDX-License-Identifier: GPL-2.0-or-later
// A policy in a file of its own (docs/plugins.md). Before CR2 reads through groups that hold enough
// clusters in pieces, it tries the groups with the largest free chunks, down to a quarter of the
// goal.
//   c++ -std=c++20 -O2 -shared -fPIC roomy.cc $(pkg-config --cflags e4replay) -o roomy.so
//   e4replay replay run.e4c -p legacy,./roomy.so
#include <e4replay/plugin.h>

#include <algorithm>
#include <array>
#include <bit>

namespace {

using namespace e4replay::plugin;
using e4replay::Criterion;

// Order of the smallest chunk that will do, but none smaller than the request.
std::uint32_t least_order(const Search& search) {
  const std::uint32_t least = std::max({full_goal_len(search) / 4, asked_len(search), 2u});
  return static_cast<std::uint32_t>(std::bit_width(least - 1));
}

bool good_roomy(const Search& search, const Group& group) {
  return good_any(search, group) &&
         largest_order(group) >= static_cast<std::int32_t>(least_order(search));
}

std::optional<std::uint32_t> choose_roomy(Search& search) {
  for (std::uint32_t order = orders(search); order-- > least_order(search);) {
    for (const Group& group : by_largest(search, order)) {
      if (!is_usable(search, number(group))) continue;
      count_considered(search, Criterion::cr1_5, 1);
      if (!good_roomy(search, group)) continue;
      set_goal_len(search, std::min(full_goal_len(search), 1u << order));
      return number(group);
    }
  }
  restore_goal(search);
  return std::nullopt;
}

Rung largest_first() {
  Rung rung;
  rung.criterion = Criterion::cr1_5;  // counted so: this ladder has no CR1.5 of its own
  rung.meaning = "the group with the largest free chunk, down to a quarter of the goal";
  rung.fast = true;
  rung.striped = true;
  rung.lengths = Lengths::long_runs;  // the chunk is there
  rung.applies = has_lists;
  rung.least_free = one_cluster;
  rung.good = good_roomy;
  rung.choose = choose_roomy;
  rung.leave = restore_goal;
  return rung;
}

}  // namespace

E4REPLAY_POLICY {
  static const std::array ladder = {cr0(), cr1(), largest_first(), cr2(), cr3()};
  Policy policy;
  policy.name = "roomy";
  policy.summary = "legacy with a rung for the largest free chunks between CR1 and CR2";
  policy.source = "docs/plugins.md";
  policy.kernel = "legacy";
  policy.ladder = ladder.data();
  policy.rungs = ladder.size();
  return policy;
}
